exports.add = (a: number, b: number) => a - b;
