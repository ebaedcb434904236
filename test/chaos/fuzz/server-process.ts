// The server that is fuzzed, in a process of its own: node --expose-gc server-process.js DIRECTORY ADDRESS
// [KUBERNETES-ADDRESS]. Says "ready"; SIGUSR2 makes it collect its garbage and print what it holds; its faults go to
// standard error. Rings are small, so that only a leak grows.
import { pino } from 'pino';
import { runServer } from '../../../apiserver/main.ts';

const [dataDir, listen, kubernetesListen] = process.argv.slice(2);
const collect = (globalThis as { gc?: () => void }).gc;
if (!dataDir || !listen || !collect) throw new Error('name the directory and the address, and run with --expose-gc');

process.on('SIGUSR2', () => {
  for (let i = 0; i < 3; i++) collect();
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  process.stdout.write(`memory ${JSON.stringify({ heapUsed, external, arrayBuffers })}\n`);
});
await runServer(
  {
    dataDir,
    listen,
    kubernetesListen,
    backend: 'lmdb',
    log: pino({ level: 'error' }, pino.destination({ dest: 2, sync: true })),
    ready: () => void process.stdout.write('ready\n'),
    ring: { maxEvents: 500, maxBytes: 1024 * 1024 },
  },
  new AbortController().signal,
);
