"""Measures the browser view in a real Chromium: evenness by the page's log and by the mapped screen, over links."""
