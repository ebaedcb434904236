import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { testProgram } from '../../fixtures/test-program.ts';

const MIB = 1024 * 1024;

/** What the server holds after it has collected its garbage, in MiB. */
export interface Memory {
  /** Anonymous pages, as the kernel counts them. */
  readonly anonymous: number;
  /** Objects, and buffers outside of the heap, as the runtime counts them. */
  readonly used: number;
  readonly files: number;
}

export interface FuzzedServer {
  /** Rejects when the server ends. */
  readonly ended: Promise<never>;
  /** What it logged as its own faults: the same one once. */
  faults(): string[];
  measure(): Promise<Memory>;
  kill(): Promise<void>;
}

/** The library says so of headers that are no text, and leaves them out. */
const libraryWord = 'E Failed to add metadata entry';

export async function startFuzzedServer(dataDir: string, address: string, kubernetes?: string): Promise<FuzzedServer> {
  const where = kubernetes === undefined ? [address] : [address, kubernetes];
  const program = await testProgram('test/chaos/fuzz/server-process.ts');
  const child = spawn(process.execPath, ['--expose-gc', program, dataDir, ...where], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  let rest = '';
  const faults = new Set<string>();
  let hear: (line: string) => void = () => {};
  child.stderr.on('data', (chunk: Buffer) => {
    const lines = (log + chunk.toString()).split('\n');
    log = lines.pop()!.slice(-4_000);
    for (const line of lines) if (!line.startsWith(libraryWord)) faults.add(faultOf(line));
  });
  child.stdout.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop()!;
    for (const line of lines) hear(line);
  });
  const close = once(child, 'close');
  const ended = close.then(([code, signal]) => {
    throw new Error(`the server ended with ${code ?? signal}: ${[...faults].slice(-5).join('\n')}\n${log}`);
  });
  ended.catch(() => {});
  const line = (start: string): Promise<string> =>
    Promise.race([
      ended,
      new Promise<string>((resolve) => {
        hear = (each) => {
          if (each.startsWith(start)) resolve(each.slice(start.length));
        };
      }),
    ]);
  await line('ready');
  return {
    ended,
    faults: () => [...faults],
    async measure() {
      const said = line('memory ');
      child.kill('SIGUSR2');
      const { heapUsed, external } = JSON.parse(await said) as { heapUsed: number; external: number };
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
      const anonymous = Number(/RssAnon:\s+(\d+)/.exec(status)?.[1]) / 1024;
      const files = (await readdir(`/proc/${child.pid}/fd`)).length;
      return { anonymous: Math.round(anonymous), used: Math.round((heapUsed + external) / MIB), files };
    },
    async kill() {
      child.kill('SIGKILL');
      await close;
    },
  };
}

/** The first lines of a fault's cause, without what differs from one to the next. */
function faultOf(line: string): string {
  try {
    const { err, msg, method } = JSON.parse(line) as { err?: { stack?: string }; msg?: string; method?: string };
    const lines = err?.stack?.split('\n') ?? [];
    const causes = lines.filter((each) => each.startsWith('caused by'));
    return `${method ?? ''} ${msg ?? ''}: ${[...lines.slice(0, 4), ...causes].join('\n')}`;
  } catch {
    return line;
  }
}
