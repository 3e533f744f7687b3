# tests/
