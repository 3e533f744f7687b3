# plugin/
