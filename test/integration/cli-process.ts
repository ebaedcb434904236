// The command line as a process of its own: `node cli-process.js WORD...`; a word ";" begins another command.
import { main } from '../../host/main.ts';

const words = process.argv.slice(2);
while (words.length > 0) {
  const end = words.indexOf(';');
  await main(['node', 'berth', ...words.splice(0, end === -1 ? words.length : end)]);
  words.shift();
}
