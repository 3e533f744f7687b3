# softcuda/
