import fc from 'fast-check';
import type { ConnectOptions } from '../../../client/index.ts';
import type { Chance } from '../random.ts';
import { encode, messageOf } from './messages.ts';
import { type AnyMethod, allMethods, libraryPaths } from './methods.ts';
import { mutate, mutatedFrame } from './mutate.ts';
import { connectionOddities, oddCall } from './oddities.ts';
import { frame, type RawCall, RawConnection, type RawOutcome } from './raw-connection.ts';

/** What came of the requests so far: by "method code", and every answer that no request may get. */
export interface Tally {
  requests: number;
  readonly byKind: Record<string, number>;
  readonly byCode: Record<string, number>;
  readonly byMethod: Map<string, number>;
  readonly faults: string[];
}

export const emptyTally = (): Tally => ({ requests: 0, byKind: {}, byCode: {}, byMethod: new Map(), faults: [] });

const codes =
  'OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED'.split(
    ' ',
  );
/** Each of these means that the server did not know what it did. */
const forbidden: readonly string[] = ['UNKNOWN', 'INTERNAL', 'DATA_LOSS'];
/** These shut out the clients of this very test, as they are meant to. So only callers without the right call them. */
const forOthers: ReadonlySet<string> = new Set(['/berth.server.v1.Certificates/DropAuthority']);
const administrators = 2;
const atOnce = 96;
/** How long a client stays that would get something for ever. */
const patienceMs = 40;
const samplesAtOnce = 200;

/** Throws requests at a server: right ones, bent ones and bytes, as several users, over a few connections. */
export class Shower {
  readonly tally = emptyTally();
  readonly #chance: Chance;
  readonly #users: readonly RawConnection[];
  /** Odd calls may break their connection, and with it those of others. */
  readonly #odd: RawConnection;
  readonly #targets: readonly ConnectOptions[];
  readonly #methods = allMethods();
  readonly #samples = new Map<string, Buffer[]>();

  /** The first two users may do everything; most requests are the first one's. */
  constructor(targets: readonly ConnectOptions[], chance: Chance) {
    this.#chance = chance;
    this.#targets = targets;
    this.#users = targets.map((target) => new RawConnection(target));
    this.#odd = new RawConnection(targets[0]!);
  }

  get connections(): number {
    return this.#users.reduce((sum, user) => sum + user.connections, 0);
  }

  /** So many requests, of all sorts. */
  async rain(count: number): Promise<void> {
    let left = count;
    const one = async (): Promise<void> => {
      while (left-- > 0) await this.#drop();
    };
    await Promise.all(Array.from({ length: atOnce }, one));
  }

  close(): void {
    for (const user of [...this.#users, this.#odd]) user.close();
  }

  async #drop(): Promise<void> {
    const kind = this.#chance.below(1_000);
    const method = this.#chance.pick(this.#methods);
    if (forOthers.has(method.path))
      return this.#send('structured', method, this.#structured(method), this.#chance.pick(this.#users.slice(administrators)));
    if (kind < 640) return this.#send('structured', method, this.#structured(method));
    if (kind < 900) return this.#send('mutated', method, this.#mutated(method));
    if (kind < 920) return this.#send('library', method, this.#library());
    if (kind < 996) return this.#send('odd', method, oddCall(method.path, this.#sample(method), this.#chance));
    const [name, act] = this.#chance.pick(Object.entries(connectionOddities));
    await act(this.#chance.pick(this.#targets), method.path, this.#sample(method));
    this.#count('connection', name, 'done');
  }

  #structured(method: AnyMethod): RawCall {
    const count = method.requestStream ? 1 + this.#chance.below(3) : 1;
    const body = Array.from({ length: count }, () => frame(this.#sample(method)));
    return { path: method.path, body, ...this.#patience(method) };
  }

  #mutated(method: AnyMethod): RawCall {
    const body = mutatedFrame(mutate(this.#sample(method), this.#chance), this.#chance);
    return { path: method.path, body, ...this.#patience(method) };
  }

  #library(): RawCall {
    const body = mutatedFrame(mutate(Buffer.from('0a0378797a', 'hex'), this.#chance), this.#chance);
    return { path: this.#chance.pick(libraryPaths), body, patienceMs };
  }

  /** The end of a stream is not awaited; one side of some stays open until the client leaves. */
  #patience({ requestStream, responseStream }: AnyMethod): Partial<RawCall> {
    if (requestStream) return { ends: this.#chance.below(2) === 0, patienceMs };
    return responseStream ? { patienceMs } : {};
  }

  /** A message for a method, made by fast-check; made for many at a time. */
  #sample({ request }: AnyMethod): Buffer {
    const known = this.#samples.get(request.fullName);
    const sample = known?.pop();
    if (sample) return sample;
    const seed = this.#chance.below(2 ** 31);
    const made = fc
      .sample(messageOf(request), { numRuns: samplesAtOnce, seed })
      .flatMap((message) => encode(request, message) ?? []);
    this.#samples.set(request.fullName, made);
    return made.pop() ?? Buffer.alloc(0);
  }

  async #send(kind: string, { path }: AnyMethod, call: RawCall, as = this.#caller(kind)): Promise<void> {
    const outcome = await as.call(call);
    const code = nameOf(outcome);
    this.#count(kind, call.path === path ? path : 'other', code);
    if (!forbidden.includes(code) && outcome.how !== 'silent') return;
    const head = Buffer.concat(call.body.map((each) => Buffer.from(each))).subarray(0, 400);
    this.tally.faults.push(
      `${code} ${kind} ${call.path} "${outcome.message}" ${JSON.stringify(call.headers ?? {}).slice(0, 300)} ${head.toString('hex')}`,
    );
  }

  #caller(kind: string): RawConnection {
    if (kind === 'odd') return this.#odd;
    return this.#chance.below(10) < 7 ? this.#users[0]! : this.#chance.pick(this.#users);
  }

  #count(kind: string, path: string, code: string): void {
    const { tally } = this;
    tally.requests++;
    tally.byKind[kind] = (tally.byKind[kind] ?? 0) + 1;
    tally.byCode[code] = (tally.byCode[code] ?? 0) + 1;
    tally.byMethod.set(path, (tally.byMethod.get(path) ?? 0) + 1);
  }
}

function nameOf({ code, http, how }: RawOutcome): string {
  if (code !== undefined) return codes[code] ?? `code ${code}`;
  return http === undefined || http === 200 ? how : `HTTP ${http}`;
}
