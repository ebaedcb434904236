import { constants } from 'node:http2';
import type { ConnectOptions } from '../../../client/index.ts';
import type { Chance } from '../random.ts';
import { DoorConnection, type DoorOutcome } from './door-connection.ts';
import { rawRequest } from './raw-requests.ts';
import { type DoorRequest, RequestMaker } from './requests.ts';

const atOnce = 64;

/** What came of the requests so far, and every answer that no request may get. */
export interface DoorTally {
  requests: number;
  readonly byKind: Record<string, number>;
  readonly byCode: Record<string, number>;
  readonly faults: string[];
}

/** Throws requests at the door: right ones, bent ones and bytes, as several users, over both versions of HTTP. */
export class HttpShower {
  readonly tally: DoorTally = { requests: 0, byKind: {}, byCode: {}, faults: [] };
  readonly #chance: Chance;
  readonly #maker: RequestMaker;
  readonly #users: readonly DoorConnection[];
  readonly #targets: readonly ConnectOptions[];

  /** The first user may do everything; most requests are its own. */
  constructor(targets: readonly ConnectOptions[], chance: Chance) {
    this.#chance = chance;
    this.#maker = new RequestMaker(chance);
    this.#targets = targets;
    this.#users = targets.map((target) => new DoorConnection(target));
  }

  async rain(count: number): Promise<void> {
    let left = count;
    const one = async (): Promise<void> => {
      while (left-- > 0) await this.#drop();
    };
    await Promise.all(Array.from({ length: atOnce }, one));
  }

  close(): void {
    for (const each of this.#users) each.close();
  }

  async #drop(): Promise<void> {
    const before = this.tally.requests;
    const thrown = this.#throw();
    const outcome = await orStuck(thrown.outcome);
    this.#note(thrown, outcome, this.tally.requests - before);
  }

  #throw(): Thrown {
    const { below, pick } = this.#chance;
    const kind = below(1_000);
    const user = below(10) < 7 ? this.#users[0]! : pick(this.#users);
    if (kind < 690) {
      const asked = this.#maker.structured();
      return { kind: 'structured', asked, outcome: this.#send(user, asked) };
    }
    const asked = this.#maker.odd();
    if (kind < 920) return { kind: 'odd', asked, outcome: this.#send(user, asked) };
    if (kind < 995) {
      const bytes = rawRequest(asked, this.#chance);
      return { kind: 'raw', asked: { ...asked, body: bytes }, outcome: user.speak(bytes, 100) };
    }
    const [name, act] = pick(Object.entries(connectionOddities));
    return { kind: 'connection', asked: { ...asked, path: name }, outcome: this.#disturb(act) };
  }

  #send(user: DoorConnection, asked: DoorRequest): Promise<DoorOutcome> {
    return this.#chance.below(2) === 0 ? user.overHttp2(asked) : user.overHttp1(asked);
  }

  async #disturb(act: Oddity): Promise<DoorOutcome> {
    const other = new DoorConnection(this.#chance.pick(this.#targets));
    await act(other, this.#maker);
    other.close();
    return { code: undefined, how: 'left' };
  }

  /** `meanwhile`: how many others ended while it ran, which tells one that was forgotten from a machine at a stand. */
  #note({ kind, asked }: Thrown, { code, how, where }: DoorOutcome, meanwhile: number): void {
    const { tally } = this;
    const isForgotten = how === 'silent' || how === 'stuck';
    const name = code === undefined || isForgotten ? how : `${code}`;
    tally.requests++;
    tally.byKind[kind] = (tally.byKind[kind] ?? 0) + 1;
    tally.byCode[name] = (tally.byCode[name] ?? 0) + 1;
    if (code !== 500 && !isForgotten) return;
    const { method, path, headers, body } = asked;
    const said = Buffer.from(body ?? [])
      .subarray(0, 300)
      .toString('latin1');
    const what = `${kind} ${method} ${path.slice(0, 300)} ${JSON.stringify(headers).slice(0, 300)} ${JSON.stringify(said)}`;
    const fate = isForgotten ? `${how} (status ${code}, ${where}, ${meanwhile} others ended meanwhile)` : name;
    tally.faults.push(`${fate} ${what}`);
    // At once: a long run may be stopped before its end.
    process.stdout.write(`kubernetes-fuzz: request ${tally.requests} at ${new Date().toISOString()}: ${fate} ${what}\n`);
  }
}

/** A request on its way. */
interface Thrown {
  readonly kind: string;
  readonly asked: DoorRequest;
  readonly outcome: Promise<DoorOutcome>;
}

/** Each ends by itself long before; one that does not would keep the shower from its end, untold. */
const stuckMs = 150_000;

function orStuck(outcome: Promise<DoorOutcome>): Promise<DoorOutcome> {
  let timer: NodeJS.Timeout;
  const stuck = new Promise<DoorOutcome>((resolve) => {
    timer = setTimeout(() => resolve({ code: undefined, how: 'stuck', where: 'the client does not end it' }), stuckMs);
  });
  return Promise.race([outcome, stuck]).finally(() => clearTimeout(timer));
}

type Oddity = (connection: DoorConnection, maker: RequestMaker) => Promise<unknown>;

/** Things that are done to whole connections. */
const connectionOddities: Readonly<Record<string, Oddity>> = {
  'breaks under its requests': async (connection, maker) => {
    const all = Array.from({ length: 30 }, () => connection.overHttp2({ ...maker.structured(), patienceMs: 1_000 }));
    await new Promise((resolve) => connection.session().once('connect', resolve).once('close', resolve));
    connection.close();
    await Promise.all(all);
  },
  'resets its requests at once': (connection, maker) =>
    Promise.all(Array.from({ length: 60 }, () => connection.overHttp2({ ...maker.structured(), patienceMs: 0 }))),
  'has no window for the answers': async (connection, maker) => {
    connection.session().settings({ initialWindowSize: 0 });
    await Promise.all(Array.from({ length: 20 }, () => connection.overHttp2({ ...maker.structured(), patienceMs: 100 })));
  },
  'pings without end': async (connection) => {
    const session = connection.session();
    await new Promise((resolve) => session.once('connect', resolve).once('close', resolve));
    for (let i = 0; i < 50 && !session.destroyed; i++) session.ping(() => {});
    await connection.overHttp2({ method: 'GET', path: '/api', headers: {}, patienceMs: 200 });
  },
  'says farewell with requests running': async (connection, maker) => {
    const all = Array.from({ length: 10 }, () => connection.overHttp2({ ...maker.structured(), patienceMs: 200 }));
    const session = connection.session();
    await new Promise((resolve) => session.once('connect', resolve).once('close', resolve));
    if (!session.destroyed) session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    await Promise.all(all);
  },
};
