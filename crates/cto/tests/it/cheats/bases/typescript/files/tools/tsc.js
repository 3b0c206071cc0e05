const fs = require('fs'), vm = require('vm');
fs.mkdirSync('dist', {recursive: true});
for (const name of fs.readdirSync('src').filter((name) => name.endsWith('.ts'))) {
  const program = fs.readFileSync('src/' + name, 'utf8').replace(/: number/g, '');
  new vm.Script(program);
  fs.writeFileSync('dist/' + name.replace('.ts', '.js'), program);
}
