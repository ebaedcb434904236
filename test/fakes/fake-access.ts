import type {
  AttachOptions,
  ContainerAccess,
  ExecOptions,
  ExecSession,
  FileInfo,
  LogOptions,
} from '../../agent/runtime/runtime.ts';
import { RuntimeError } from '../../agent/runtime/runtime-error.ts';

/** What an exec of the fake answers. `echo` sends what is written back, like `cat`. */
export interface FakeExec {
  readonly stdout?: string;
  readonly stderr?: string;
  readonly exitCode?: number;
  readonly echo?: boolean;
  /** Written again and again, as long as it is read. */
  readonly flood?: Uint8Array;
  /** Nothing of the input is read. */
  readonly isDeaf?: boolean;
  resized?(width: number, height: number): void;
  /** The other side is done with it, or gone. */
  closed?(): void;
}

export interface FakeAccessControls {
  /** Lines a container has written, in order; followers get new ones. */
  writeLog(id: string, line: string, at?: Date): void;
  onExec(answer: (id: string, options: ExecOptions) => FakeExec): void;
  /** What an attach of the fake meets; the default echoes. */
  onAttach(answer: (id: string, options: AttachOptions) => FakeExec): void;
  /** How many lines were read, by all readers. */
  readonly logReads: number;
  /** Archives by "container id:path", as they are read and were written. */
  readonly files: Map<string, Uint8Array[]>;
}

const fakeFile: FileInfo = { name: 'file', size: 1, mode: 0o644, type: 'file', owner: { uid: 0, gid: 0 } };

const wholeLog: LogOptions = {
  follow: false,
  tailLines: undefined,
  sinceTime: undefined,
  timestamps: false,
  limitBytes: undefined,
};

async function* asStdout(log: AsyncIterable<Uint8Array>) {
  for await (const data of log) yield { stream: 'stdout' as const, data };
}

interface Wiring {
  enter(method: 'logs' | 'exec' | 'attach' | 'files', id: string): Promise<void>;
  isRunning(id: string): boolean;
  exists(id: string): boolean;
  endOf(id: string): { ended: Promise<void>; cancel(): void };
}

interface LogLine {
  readonly text: string;
  readonly at: Date;
}

export function createFakeAccess(wiring: Wiring): { access: ContainerAccess; controls: FakeAccessControls } {
  const logs = new Map<string, LogLine[]>();
  const wakers = new Set<() => void>();
  const files = new Map<string, Uint8Array[]>();
  let logReads = 0;
  let answer: (id: string, options: ExecOptions) => FakeExec = () => ({});
  let answerAttach: (id: string, options: AttachOptions) => FakeExec = () => ({ echo: true });

  async function findFile(id: string, path: string): Promise<FileInfo> {
    await wiring.enter('files', id);
    if (!files.has(`${id}:${path}`)) throw new RuntimeError('not-found', `no such file or directory: ${path}`);
    return { ...fakeFile, name: path.split('/').at(-1) ?? '' };
  }

  async function* readLogs(id: string, options: LogOptions, signal: AbortSignal): AsyncIterable<Uint8Array> {
    await wiring.enter('logs', id);
    if (!wiring.exists(id)) throw new RuntimeError('not-found', `logs of ${id}: no such container`);
    const since = (logs.get(id) ?? []).filter((line) => options.sinceTime === undefined || line.at >= options.sinceTime);
    let next =
      (logs.get(id) ?? []).length - (options.tailLines === undefined ? since.length : Math.min(options.tailLines, since.length));
    let left = options.limitBytes ?? Number.POSITIVE_INFINITY;
    while (!signal.aborted && left > 0) {
      const line = logs.get(id)?.[next];
      if (line !== undefined) {
        next++;
        logReads++;
        const bytes = Buffer.from(`${options.timestamps ? `${line.at.toISOString()} ` : ''}${line.text}\n`).subarray(0, left);
        left -= bytes.length;
        yield bytes;
      } else if (options.follow && wiring.isRunning(id)) await change(id, signal);
      else return;
    }
  }

  async function change(id: string, signal: AbortSignal): Promise<void> {
    const waiting = wiring.endOf(id);
    let wake = () => {};
    const written = new Promise<void>((resolve) => {
      wake = resolve;
      wakers.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
    await Promise.race([waiting.ended, written]);
    waiting.cancel();
    wakers.delete(wake);
    signal.removeEventListener('abort', wake);
  }

  const access: ContainerAccess = {
    logs: readLogs,
    async exec(id, options, signal) {
      await wiring.enter('exec', id);
      signal.throwIfAborted();
      if (!wiring.isRunning(id)) throw new RuntimeError('conflict', `exec in ${id}: container is not running`);
      return untilAborted(createSession(answer(id, options)), signal);
    },
    async attach(id, options, signal) {
      await wiring.enter('attach', id);
      signal.throwIfAborted();
      const session = untilAborted(createSession(answerAttach(id, options)), signal);
      if (!options.fromStart) return session;
      const log = readLogs(id, { ...wholeLog, follow: true }, signal);
      return { ...session, output: () => asStdout(log) };
    },
    stat: (id, path) => findFile(id, path),
    async readFiles(id, path) {
      const info = await findFile(id, path);
      const pieces = files.get(`${id}:${path}`) ?? [];
      return {
        info,
        archive: async function* () {
          yield* pieces;
        },
        close: () => {},
      };
    },
    async writeFiles(id, path, archive, signal) {
      await wiring.enter('files', id);
      const pieces: Uint8Array[] = [];
      for await (const piece of archive) {
        signal.throwIfAborted();
        pieces.push(piece);
      }
      files.set(`${id}:${path}`, pieces);
    },
  };
  const controls: FakeAccessControls = {
    writeLog(id, line, at = new Date()) {
      logs.set(id, [...(logs.get(id) ?? []), { text: line, at }]);
      for (const wake of wakers) wake();
    },
    onExec: (next) => {
      answer = next;
    },
    onAttach: (next) => {
      answerAttach = next;
    },
    files,
    get logReads() {
      return logReads;
    },
  };
  return { access, controls };
}

/** As the engine's, whose connection ends with the signal. */
function untilAborted(session: ExecSession, signal: AbortSignal): ExecSession {
  signal.addEventListener('abort', session.close, { once: true });
  return session;
}

function createSession(exec: FakeExec): ExecSession {
  const written: Uint8Array[] = [];
  let inputClosed = false;
  let closed = false;
  let wake = () => {};
  return {
    async *output() {
      if (exec.stdout !== undefined) yield { stream: 'stdout', data: Buffer.from(exec.stdout) };
      if (exec.stderr !== undefined) yield { stream: 'stderr', data: Buffer.from(exec.stderr) };
      while (exec.flood !== undefined && !closed) yield { stream: 'stdout', data: exec.flood };
      while (exec.echo === true && !closed) {
        const data = written.shift();
        if (data !== undefined) yield { stream: 'stdout', data };
        else if (inputClosed) return;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    },
    async write(data) {
      if (exec.isDeaf) return new Promise<void>(() => {});
      written.push(data);
      wake();
    },
    async closeInput() {
      inputClosed = true;
      wake();
    },
    async resize(width, height) {
      exec.resized?.(width, height);
    },
    exitCode: async () => exec.exitCode ?? 0,
    close() {
      closed = true;
      exec.closed?.();
      wake();
    },
  };
}
