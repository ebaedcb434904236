import type { EventEmitter } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { type ConnectOptions, upsertContext } from '../../client/index.ts';
import { main } from '../../host/main.ts';

/** What a command line said, and its exit code. */
export interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The command line in this process, with a configuration of its own; what is printed is kept instead. */
export interface CommandLine {
  /** A folder for files of the test, gone with `close`. */
  readonly folder: string;
  berth(...words: string[]): Promise<Said>;
  close(): Promise<void>;
}

const emitters: readonly EventEmitter[] = [process, process.stdout];
const events = ['SIGINT', 'SIGTERM', 'exit', 'error'] as const;

/** Remembers who listens now; the function that it gives takes those away that came since. */
function keepListeners(): () => void {
  const all = emitters.flatMap((emitter) => events.map((event) => ({ emitter, event })));
  const before = all.map(({ emitter, event }) => new Set<unknown>(emitter.listeners(event)));
  return () => {
    for (const [at, { emitter, event }] of all.entries())
      for (const listener of emitter.listeners(event)) if (!before[at]?.has(listener)) emitter.off(event, listener as () => void);
  };
}

export async function openCommandLine(admin: ConnectOptions): Promise<CommandLine> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-cli-'));
  process.env.BERTH_CONFIG = join(folder, 'config');
  process.env.XDG_CACHE_HOME = join(folder, 'cache');
  await upsertContext({ name: 'here', options: admin, use: true });
  // Each run listens for signals and for the end of its process, which is no end of this one.
  const removeListeners = keepListeners();
  const [stdout, stderr]: [string[], string[]] = [[], []];
  // Each run listens for the end of its reader, which is the end of the process elsewhere.
  process.stdout.setMaxListeners(100);
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => stdout.push(String(text)) > 0);
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => stderr.push(String(text)) > 0);
  return {
    folder,
    async berth(...words) {
      stdout.length = 0;
      stderr.length = 0;
      process.exitCode = undefined;
      await main(['node', 'berth', ...words]);
      const code = Number(process.exitCode ?? 0);
      process.exitCode = undefined;
      return { code, out: stdout.join(''), err: stderr.join('') };
    },
    async close() {
      vi.restoreAllMocks();
      delete process.env.BERTH_CONFIG;
      delete process.env.XDG_CACHE_HOME;
      process.exitCode = undefined;
      removeListeners();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
