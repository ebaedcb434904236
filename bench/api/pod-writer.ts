import { performance } from 'node:perf_hooks';
import { encodeMessage } from '../../api/codec/message.ts';
import { LeanConnection, type LeanTarget } from './lean-connection.ts';
import { typicalPod } from './typical-pod.ts';

const CREATE = '/berth.core.v1.Pods/Create';
const PREFIX = 'pod-';
const DIGITS = 8;
/** Below what the server allows one client at once. */
const MOST_AT_ONCE = 400;

/** The number in the name of a pod that a writer made. */
export function numberOf(name: string): number {
  return Number(name.slice(PREFIX.length));
}

/** Creates typical pods, numbered one after the other, over one connection, and notes when each was acknowledged. */
export class PodWriter {
  /** By number: when the answer was there, on this process's clock. */
  readonly acknowledgedAt: Float64Array;
  /** By number: when it was sent. */
  readonly sentAt: Float64Array;
  readonly #connection: LeanConnection;
  readonly #template: Buffer;
  readonly #nameAt: number;
  #next: number;
  #failed = 0;
  #running = 0;

  private constructor(connection: LeanConnection, most: number, first: number) {
    this.#connection = connection;
    this.#next = first;
    this.acknowledgedAt = new Float64Array(first + most);
    this.sentAt = new Float64Array(first + most);
    const name = `${PREFIX}${'0'.repeat(DIGITS)}`;
    const pod = typicalPod();
    const object = { ...pod, metadata: { ...pod.metadata, generateName: undefined, name } };
    this.#template = encodeMessage('berth.core.v1.PodWriteRequest', { object });
    this.#nameAt = this.#template.indexOf(name) + PREFIX.length;
  }

  /** For at most so many pods, numbered from `first`. */
  static async open(target: LeanTarget, most: number, first = 0): Promise<PodWriter> {
    return new PodWriter(await LeanConnection.open(target), most, first);
  }

  /** The number of the next one. */
  get count(): number {
    return this.#next;
  }

  close(): void {
    this.#connection.close();
  }

  /**
   * `rate` in a second, evenly, as long as the server keeps up: with MOST_AT_ONCE on their way it waits.
   * Resolves when all are acknowledged.
   */
  async steadily(rate: number, count: number): Promise<void> {
    const begin = performance.now();
    const answers: Promise<void>[] = [];
    while (answers.length < count) {
      const due = Math.min(count, Math.floor(((performance.now() - begin) / 1000) * rate));
      while (answers.length < due && this.#running < MOST_AT_ONCE) answers.push(this.#write());
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await Promise.all(answers);
    this.#check();
  }

  /** As fast as they go, so many at once. */
  async flatOut(atOnce: number, count: number): Promise<void> {
    const end = this.#next + count;
    const worker = async (): Promise<void> => {
      while (this.#next < end) await this.#write();
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    this.#check();
  }

  async #write(): Promise<void> {
    const number = this.#next++;
    this.#running++;
    const request = Buffer.from(this.#template);
    request.write(String(number).padStart(DIGITS, '0'), this.#nameAt, 'latin1');
    this.sentAt[number] = performance.now();
    try {
      await this.#connection.unary(CREATE, request);
      this.acknowledgedAt[number] = performance.now();
    } catch {
      this.#failed++;
    }
    this.#running--;
  }

  #check(): void {
    if (this.#failed > 0) throw new Error(`${this.#failed} of ${this.#next} pods were not created`);
  }
}
