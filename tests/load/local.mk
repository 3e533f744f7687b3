# tests/load/: rules of the tree and of the built components.
