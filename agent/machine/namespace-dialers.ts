import { type ChildProcess, spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import type { Socket } from 'node:net';

/** A network namespace, by a process that is in it. */
export interface Namespace {
  readonly podUid: string;
  readonly pid: number;
}

/**
 * Connects from inside of network namespaces. A process cannot change its namespace for one connection, so a small
 * program of ours is started in it with `nsenter`, which connects and hands the open socket over: data do not pass
 * through it. One for each pod while connections are opened, ended when idle, and by itself when the agent dies.
 */
export interface NamespaceDialers {
  /**
   * The connection, or undefined when nothing listens there or the namespace cannot be entered. The machine's own is
   * not entered: a pod's process may have ended, and its number be another's by now.
   */
  dial(namespace: Namespace, port: number): Promise<Socket | undefined>;
  close(): void;
}

export interface NamespaceDialersOptions {
  /** The addresses to try, in this order. */
  readonly loopback: readonly string[];
  readonly warn: (message: string) => void;
  /** How long a program may wait for the next connection (default 30 s). */
  readonly idleMs?: number;
}

/** Programs at a time, about 40 MB each; for more pods at once the one that was used longest ago goes. */
const maxPrograms = 4;
const dialTimeoutMs = 10_000;

interface Program {
  readonly key: string;
  readonly child: ChildProcess;
  readonly waiting: Map<number, (socket: Socket | undefined) => void>;
  idle: NodeJS.Timeout | undefined;
}

export function createNamespaceDialers(options: NamespaceDialersOptions): NamespaceDialers {
  return new WorkerDialers(options);
}

class WorkerDialers implements NamespaceDialers {
  readonly #options: NamespaceDialersOptions;
  readonly #idleMs: number;
  /** In the order of their last use. */
  readonly #programs = new Map<string, Program>();
  #warned = false;
  #serial = 0;

  constructor(options: NamespaceDialersOptions) {
    this.#options = options;
    this.#idleMs = options.idleMs ?? 30_000;
  }

  dial(namespace: Namespace, port: number): Promise<Socket | undefined> {
    const program = this.#programFor(namespace);
    const id = ++this.#serial;
    clearTimeout(program.idle);
    return new Promise((resolve) => {
      const answer = (socket: Socket | undefined): void => {
        clearTimeout(timer);
        program.waiting.delete(id);
        if (program.waiting.size === 0) program.idle = setTimeout(() => this.#end(program), this.#idleMs).unref();
        // What comes from another process closes both directions at once unless told otherwise.
        if (socket) socket.allowHalfOpen = true;
        resolve(socket);
      };
      const timer = setTimeout(answer, dialTimeoutMs, undefined);
      program.waiting.set(id, answer);
      program.child.send({ id, port }, (error) => error && answer(undefined));
    });
  }

  close(): void {
    for (const { child } of this.#programs.values()) child.kill();
    this.#programs.clear();
  }

  #programFor({ podUid, pid }: Namespace): Program {
    const key = `${podUid}/${pid}`;
    const program = this.#programs.get(key) ?? this.#start(key, pid);
    this.#programs.delete(key);
    this.#programs.set(key, program);
    for (const oldest of this.#programs.values()) {
      if (this.#programs.size <= maxPrograms) break;
      this.#end(oldest);
    }
    return program;
  }

  /** Dropped at once: an exiting program would not answer further requests. */
  #end(program: Program): void {
    if (this.#programs.get(program.key) === program) this.#programs.delete(program.key);
    program.child.kill();
  }

  #start(key: string, pid: number): Program {
    const args = [
      `--net=/proc/${pid}/ns/net`,
      process.execPath,
      '-e',
      `(${dialInside.toString()})(${JSON.stringify({ hosts: this.#options.loopback, own: ownNamespace() })})`,
    ];
    const child = spawn('nsenter', args, { stdio: ['ignore', 'ignore', 'ignore', 'ipc'], env: { PATH: process.env.PATH ?? '' } });
    const program: Program = { key, child, waiting: new Map(), idle: undefined };
    const gone = (): void => {
      clearTimeout(program.idle);
      if (this.#programs.get(key) === program) this.#programs.delete(key);
      for (const answer of program.waiting.values()) answer(undefined);
    };
    child.on('message', (message, socket) => {
      const answer = program.waiting.get((message as { id: number }).id);
      if (answer) answer(socket as Socket | undefined);
      // The caller has timed out.
      else (socket as Socket | undefined)?.destroy();
    });
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (!this.#warned)
        this.#options.warn(
          `cannot run nsenter (${error.code ?? error.message}): port-forward reaches pods by their address only`,
        );
      this.#warned = true;
      gone();
    });
    child.on('exit', gone);
    return program;
  }
}

/** Which network namespace a process is in, as the kernel names it: "net:[4026531840]". */
const ownNamespace = (): string => readlinkSync('/proc/self/ns/net');

/** Runs in the namespace and must be self-contained. Connects as requested and passes the socket back. */
function dialInside({ hosts, own }: { readonly hosts: readonly string[]; readonly own: string }): void {
  if (process.getBuiltinModule('node:fs').readlinkSync('/proc/self/ns/net') === own) process.exit(1);
  const { connect } = process.getBuiltinModule('node:net');
  process.on('disconnect', () => process.exit(0));
  process.on('message', ({ id, port }: { id: number; port: number }) => {
    const attempt = ([host, ...others]: readonly string[]): void => {
      if (host === undefined) {
        process.send?.({ id });
        return;
      }
      const socket = connect({ host, port, allowHalfOpen: true });
      // Nothing is read here: what the pod sends first belongs to the receiver of the socket.
      socket.pause();
      socket.once('error', () => attempt(others));
      socket.once('connect', () => process.send?.({ id }, socket));
    };
    attempt(hosts);
  });
}
