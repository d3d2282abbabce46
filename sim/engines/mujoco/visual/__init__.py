"""Marks made by MuJoCo's visualizer. visual_marks: marks of a state; geom_marks: conversion; user_geoms: `user_scn`.

geom_memory: memory layout of MuJoCo's visual structs.
"""
