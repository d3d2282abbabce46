"""The command line: commands, the flags that come from `Config`, and what a shell completes. The only room for click.

commands: what there is to type, and what each does. flags: options made of Config's fields. table: commands that are
made when asked for. completion: words for the shell.
"""
