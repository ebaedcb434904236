// The API server as a process that a test can kill: `node --import from-source.mjs apiserver-process.ts DIRECTORY ADDRESS`.
import { pino } from 'pino';
import { runServer } from '../../apiserver/main.ts';

const [dataDir, listen] = process.argv.slice(2);
const ready = (): void => void process.stdout.write('ready\n');
await runServer(
  { dataDir: dataDir!, listen: listen!, backend: 'lmdb', log: pino({ level: 'silent' }), ready },
  new AbortController().signal,
);
