import { encodeMessage } from '../../api/codec/message.ts';
import { type ApiError, exhausted, unavailable } from '../../api/errors/index.ts';
import type { PlacementAnswer, PlacementQuestion } from '../../api/generated/types.ts';
import { abortable } from '../tunnel/abortable.ts';
import { fromStatus } from '../tunnel/node-error.ts';

/** Where the questions go that a scheduler answers. */
export interface SchedulerLink {
  send(frame: Buffer): void;
}

interface Asked {
  readonly link: SchedulerLink;
  resolve(answer: PlacementAnswer): void;
  reject(error: ApiError): void;
}

/** A simulation of many pods in a large cluster takes seconds. */
const ANSWER_TIMEOUT_MS = 25_000;
const CONNECT_TIMEOUT_MS = 3_000;
/**
 * Bounds the unanswered questions to a scheduler, and the calls that wait for one to connect. Each question costs its
 * scheduler a copy of its cache, so one whose caller has left counts until the answer is here.
 */
const MAX_ASKED = 32;
const RETRY_AFTER_MS = 2_000;

/** The connected schedulers and their pending requests. */
export class SchedulerLinks {
  readonly #links = new Map<string, Set<SchedulerLink>>();
  readonly #asked = new Map<number, Asked>();
  /** The questions that a scheduler is at work on, or has still before it. */
  readonly #open = new WeakMap<SchedulerLink, Set<number>>();
  /** Callers that wait for a scheduler to connect. */
  readonly #waiting = new Set<() => void>();
  #lastId = 0;

  /** The returned function takes it out again. */
  connect(schedulerName: string, link: SchedulerLink): () => void {
    const links = this.#links.get(schedulerName) ?? new Set();
    this.#links.set(schedulerName, links.add(link));
    this.#open.set(link, new Set());
    for (const wake of this.#waiting) wake();
    return () => {
      links.delete(link);
      if (links.size === 0) this.#links.delete(schedulerName);
      for (const asked of this.#asked.values())
        if (asked.link === link) asked.reject(unavailable(`scheduler "${schedulerName}" has disconnected: try again`));
    };
  }

  /** Those that are connected, in alphabetical order. */
  names(): string[] {
    return [...this.#links.keys()].sort();
  }

  /** Throws UNAVAILABLE when no such scheduler is connected or none answers, and what the scheduler refuses with. */
  async ask(schedulerName: string, question: Omit<PlacementQuestion, 'id'>, signal: AbortSignal): Promise<PlacementAnswer> {
    const link = this.#newest(schedulerName) ?? (await this.#connected(schedulerName, signal));
    const open = this.#open.get(link)!;
    if (open.size >= MAX_ASKED) throw tooMany();
    this.#lastId = (this.#lastId % 0xffff_ffff) + 1;
    const id = this.#lastId;
    const answer = new Promise<PlacementAnswer>((resolve, reject) => this.#asked.set(id, { link, resolve, reject }));
    const late = () =>
      this.#asked
        .get(id)
        ?.reject(unavailable(`scheduler "${schedulerName}" did not answer within ${ANSWER_TIMEOUT_MS / 1000} s`));
    const timer = setTimeout(late, ANSWER_TIMEOUT_MS);
    try {
      link.send(encodeMessage('berth.scheduling.v1.PlacementQuestion', { ...question, id }));
      open.add(id);
      return await abortable(answer, signal);
    } finally {
      clearTimeout(timer);
      this.#asked.delete(id);
    }
  }

  /** The one that came last: others of its name may be on their way out. */
  #newest(schedulerName: string): SchedulerLink | undefined {
    return [...(this.#links.get(schedulerName) ?? [])].at(-1);
  }

  /** A scheduler that has just started, or lost its connection, is waited for a moment. */
  async #connected(schedulerName: string, signal: AbortSignal): Promise<SchedulerLink> {
    if (this.#waiting.size >= MAX_ASKED) throw tooMany();
    let timer: NodeJS.Timeout | undefined;
    let wake = (): void => {};
    const come = new Promise<void>((resolve) => {
      wake = resolve;
      this.#waiting.add(wake);
      timer = setTimeout(resolve, CONNECT_TIMEOUT_MS);
    });
    try {
      await abortable(come, signal);
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(wake);
    }
    const link = this.#newest(schedulerName);
    if (link) return link;
    const others = this.names().join(', ') || 'none';
    throw unavailable(`no scheduler called "${schedulerName}" is connected: is it running? Connected: ${others}`);
  }

  /** Handles a scheduler's answer; ignored when the caller is gone or the request went to another scheduler. */
  answer(link: SchedulerLink, answer: PlacementAnswer): void {
    this.#open.get(link)?.delete(answer.id ?? 0);
    const asked = this.#asked.get(answer.id ?? 0);
    if (asked?.link !== link) return;
    if (answer.error) asked.reject(fromStatus(answer.error));
    else asked.resolve(answer);
  }
}

const tooMany = (): ApiError => exhausted('too many questions wait for schedulers: try again later', RETRY_AFTER_MS);
