mkdir -p gen && cp src/calc.py gen/calc.py
