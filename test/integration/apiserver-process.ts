// The API server as a process that a test can kill: `node --expose-gc apiserver-process.js DIRECTORY ADDRESS`.
// SIGUSR2 makes it collect its garbage and print how many bytes it holds.
import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import { runServer } from '../../apiserver/main.ts';
import { controllerRules } from '../../controllers/main.ts';

const [dataDir, listen] = process.argv.slice(2);
const ready = (): void => void process.stdout.write('ready\n');
const collect = (globalThis as { gc?: () => void }).gc;
process.on('SIGUSR2', async () => {
  // What a weak reference was asked for stays until the turn has ended.
  for (let i = 0; i < 4; i++) {
    await turn();
    collect?.();
  }
  const { heapUsed, external } = process.memoryUsage();
  process.stdout.write(`${heapUsed + external}\n`);
});
await runServer(
  { dataDir: dataDir!, listen: listen!, backend: 'lmdb', controllerRules, log: pino({ level: 'silent' }), ready },
  new AbortController().signal,
);
