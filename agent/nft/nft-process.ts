import { type ChildProcess, spawn } from 'node:child_process';

/** nft understood a transaction and refused it; nothing of it is in force. */
export class NftRefusedError extends Error {
  /**
   * How many commands were to remove what is in use (EBUSY, in the words of glibc or musl), such as a chain that a rule
   * leads to.
   */
  readonly busy: number;

  constructor(errors: string) {
    super(`run nft: ${errors.slice(0, 2_000)}`);
    this.busy = errors.match(/^Error: Could not process rule: .*[Rr]esource busy$/gm)?.length ?? 0;
  }
}

/** It is not known what became of a transaction: nft ended, said nothing, or said what makes no sense. */
export class NftLostError extends Error {}

export interface NftProcessOptions {
  /** What is put before "nft", such as `ip netns exec NAME`; nothing by default. */
  readonly prefix?: readonly string[];
  /** How long a transaction may take (default 10 s), and a second more for each 100 KB of it. */
  readonly timeoutMs?: number;
  /** How many transactions may wait for their turn (default 16). */
  readonly maxWaiting?: number;
}

/** More text than this about one transaction is no answer. */
const maxAnswer = 256 * 1024;
/**
 * A longer transaction gets a process of its own (`nft -f -`, about 5 ms of processor time): the kept one reads its
 * commands byte by byte, with a system call for each (1 MB: 600 ms more).
 */
const longLine = 4 * 1024;
/**
 * nft remembers every line for its editor, and walks through all of them for each further one: 6,000 lines cost 0.2 ms
 * a transaction and 1 MB. Another process costs 5 ms.
 */
const mostOfOneProcess = 250;

/**
 * For each transaction nft takes a block of 2 MB and some of 128 KB, and gives them back. The C library keeps them for
 * the next one: with the agent's own settings, which nft would inherit, they would be new pages each time, and their
 * 530 faults are nearly all that a transaction costs.
 */
const keptBlocks = { MALLOC_MMAP_THRESHOLD_: String(4 * 1024 * 1024), MALLOC_TRIM_THRESHOLD_: String(8 * 1024 * 1024) };

interface Transaction {
  readonly line: string;
  readonly done: (error?: Error) => void;
}

/**
 * One kept `nft -i`: each line is a transaction. A line that is no command follows it, and nft's complaint about that
 * line is the end of the answer. Errors and ends come through one pipe, so their order is certain. After a loss the
 * process is killed, what waits fails too, and the next transaction starts another. One transaction runs at a time.
 * A process that has had many is replaced.
 */
export class NftProcess {
  readonly #options: NftProcessOptions;
  readonly #waiting: Transaction[] = [];
  #child: ChildProcess | undefined;
  /** How many transactions it has had. */
  #served = 0;
  #current: (Transaction & { readonly end: string; readonly timer: NodeJS.Timeout; readonly once?: ChildProcess }) | undefined;
  #answer = '';
  #serial = 0;
  #closed = false;

  constructor(options: NftProcessOptions = {}) {
    this.#options = options;
  }

  /** The process that runs, if one does. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Resolves when the transaction is in force.
   * @throws NftRefusedError, NftLostError; also when too many wait
   */
  run(line: string): Promise<void> {
    if (line.includes('\n')) return Promise.reject(new Error('run nft: a transaction is one line'));
    if (this.#closed) return Promise.reject(new NftLostError('run nft: the process is closed'));
    if (this.#waiting.length >= (this.#options.maxWaiting ?? 16)) {
      return Promise.reject(new NftLostError(`run nft: ${this.#waiting.length} transactions wait already`));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ line, done: (error) => (error === undefined ? resolve() : reject(error)) });
      this.#next();
    });
  }

  /** Ends the process; what waits fails. */
  close(): void {
    this.#closed = true;
    this.#lose('run nft: the process is closed');
  }

  #next(): void {
    if (this.#current !== undefined) return;
    const transaction = this.#waiting.shift();
    if (transaction === undefined) return;
    const end = `berth_end_${++this.#serial}`;
    const patience = patienceFor(transaction.line, this.#options.timeoutMs);
    const timer = setTimeout(() => this.#lose('run nft: no answer in time'), patience);
    this.#answer = '';
    if (transaction.line.length > longLine) {
      this.#current = { ...transaction, end, timer, once: this.#runOnce(transaction.line) };
      return;
    }
    this.#current = { ...transaction, end, timer };
    const child = this.#child ?? this.#start();
    child.stdin!.write(`${transaction.line}\n${end}\n`);
  }

  #spawn(...args: string[]): ChildProcess {
    const [command = 'nft', ...rest] = [...(this.#options.prefix ?? []), 'nft', ...args];
    // Without a locale of the machine's, messages are in English. In the home folder nft would keep all lines when its
    // input ends, and read them when it starts.
    const env = { ...process.env, ...keptBlocks, LC_ALL: 'C', HOME: '/dev/null' };
    const child = spawn(command, rest, { stdio: ['pipe', 'ignore', 'pipe'], env });
    child.stdin!.on('error', () => {});
    child.stderr!.setEncoding('utf8');
    return child;
  }

  #runOnce(line: string): ChildProcess {
    const child = this.#spawn('-f', '-');
    const isCurrent = (): boolean => this.#current?.once === child;
    child.on('error', (error) => isCurrent() && this.#lose(explain(error)));
    child.stderr!.on('data', (text: string) => {
      if (isCurrent() && this.#answer.length < maxAnswer) this.#answer += text;
    });
    child.on('close', (code, signal) => {
      if (!isCurrent()) return;
      if (code === null || code > 1) this.#lose(`run nft: the process ended (${signal ?? code})`);
      else this.#finish(code === 0 ? '' : this.#answer.trim());
    });
    child.stdin!.end(`${line}\n`);
    return child;
  }

  #start(): ChildProcess {
    const child = this.#spawn('-i');
    this.#child = child;
    this.#served = 0;
    const lose = (reason: string) => this.#child === child && this.#lose(reason);
    child.on('error', (error) => lose(explain(error)));
    child.on('close', (code, signal) => lose(`run nft: the process ended (${signal ?? code}): ${this.#answer.slice(0, 500)}`));
    child.stderr!.on('data', (text: string) => {
      if (this.#child === child) this.#read(text);
    });
    return child;
  }

  #read(text: string): void {
    const current = this.#current;
    if (current === undefined || current.once !== undefined) return;
    this.#answer += text;
    const answer = parseAnswer(this.#answer, current.end);
    if (answer === 'nonsense' || this.#answer.length > maxAnswer) {
      this.#lose(`run nft: its answer makes no sense: ${this.#answer.slice(0, 500)}`);
      return;
    }
    if (answer !== undefined) this.#finish(answer);
  }

  #finish(errors: string): void {
    const current = this.#current;
    clearTimeout(current?.timer);
    this.#current = undefined;
    if (current?.once === undefined && ++this.#served >= mostOfOneProcess) this.#replace();
    current?.done(errors === '' ? undefined : new NftRefusedError(errors));
    this.#next();
  }

  /** At once, so that the next transaction need not wait for it. It waits for lines: nothing is lost. */
  #replace(): void {
    const before = this.#child;
    this.#start();
    before?.kill('SIGKILL');
  }

  #lose(reason: string): void {
    const error = new NftLostError(reason);
    const lost = [...(this.#current ? [this.#current] : []), ...this.#waiting.splice(0)];
    clearTimeout(this.#current?.timer);
    this.#current?.once?.kill('SIGKILL');
    this.#current = undefined;
    const child = this.#child;
    this.#child = undefined;
    child?.kill('SIGKILL');
    for (const transaction of lost) transaction.done(error);
  }
}

/** nft takes about 0.4 s for 100 KB of ranges. */
const patienceFor = (line: string, atLeastMs = 10_000): number => atLeastMs + Math.ceil(line.length / 100);

const explain = (error: Error): string => `run nft: ${error.message}; is the package nftables installed?`;

/** Where a line is this one; -1: nowhere, or its end has not come. */
function lineIn(text: string, line: string): number {
  if (text.startsWith(`${line}\n`)) return 0;
  const before = text.indexOf(`\n${line}\n`);
  return before === -1 ? -1 : before + 1;
}

/**
 * The errors that nft reports before it complains about the line `end`: empty for none, undefined while the end has not
 * come. The marks below the line of the last complaint may arrive late and belong to no error.
 */
export function parseAnswer(text: string, end: string): string | 'nonsense' | undefined {
  const at = lineIn(text, end);
  if (at === -1) return undefined;
  const said = text.slice(0, at);
  const complaint = said.lastIndexOf('Error: syntax error');
  if (complaint === -1) return 'nonsense';
  const errors = said
    .slice(0, complaint)
    .replace(/^[ ^~\n]*/, '')
    .trim();
  return errors === '' || /^(\S+:\d+:\d+-\d+: )?(Error|Warning): /.test(errors) ? errors : 'nonsense';
}
