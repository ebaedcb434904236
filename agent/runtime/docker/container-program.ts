import { RuntimeError } from '../runtime-error.ts';
import type { Engine } from './engine.ts';
import { type OwnExec, openOwnExec } from './exec.ts';

export interface ProgramOptions {
  readonly engine: Engine;
  readonly containerId: string;
  /** For messages. */
  readonly action: string;
  readonly signal: AbortSignal;
  /** The error when the image does not have the program. */
  missing(program: string): RuntimeError;
}

/** The longest excerpt of a program's error output in a message. */
const mostWords = 1024;
/** What a shell, and the engine, answer for a program that cannot be started. */
const notStarted = [126, 127];

/**
 * A program of a container's image that copies, as the user of the container: an image that may not run as root does
 * not get to by a copy. It ends with its work or with `stop`, which everything that starts one calls at last.
 */
export class ContainerProgram {
  readonly #command: readonly string[];
  readonly #options: ProgramOptions;
  readonly #exec: OwnExec;
  #words = Buffer.alloc(0);
  #ended = false;

  private constructor(command: readonly string[], options: ProgramOptions, exec: OwnExec) {
    this.#command = command;
    this.#options = options;
    this.#exec = exec;
  }

  static async start(
    command: readonly string[],
    options: ProgramOptions,
    stdin: 'stdin' | 'no-stdin',
  ): Promise<ContainerProgram> {
    const exec = { command, tty: false, stdin: stdin === 'stdin' };
    return new ContainerProgram(command, options, await openOwnExec(options.engine, options.containerId, exec, options.signal));
  }

  /** Its standard output. */
  async *output(): AsyncGenerator<Uint8Array> {
    for await (const { stream, data } of this.#exec.output()) {
      if (stream === 'stdout') yield data;
      else if (this.#words.length < mostWords) this.#words = Buffer.concat([this.#words, data]);
    }
    const { signal, action } = this.#options;
    if (signal.aborted) throw new RuntimeError('failed', `${action}: aborted`, { cause: signal.reason });
  }

  write(data: Uint8Array): Promise<void> {
    return this.#exec.write(data);
  }

  closeInput(): Promise<void> {
    return this.#exec.closeInput();
  }

  /** Its exit code, once its output has ended. Throws when it could not be started. */
  async exitCode(): Promise<number> {
    const code = await this.#exec.exitCode();
    this.#ended = true;
    if (notStarted.includes(code)) throw this.#options.missing(this.#command[0] ?? '');
    return code;
  }

  /** Throws, with the program's own words, unless it has ended well. */
  async check(): Promise<void> {
    const code = await this.exitCode();
    if (code !== 0) throw this.failure(`ended with exit code ${code}`);
  }

  failure(what: string): RuntimeError {
    const words = this.#words
      .toString('utf8', 0, mostWords)
      .trim()
      .split(/[\r\n]+/)
      .join('; ');
    const message = `${this.#options.action}: ${this.#command[0]} in the container ${what}`;
    return new RuntimeError('failed', words === '' ? message : `${message}: ${words}`);
  }

  /** Ends it, unless its exit code is known. */
  stop(): void {
    this.#exec.close();
    if (!this.#ended) this.#exec.end();
  }
}
