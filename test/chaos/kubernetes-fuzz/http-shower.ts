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
    const { below, pick } = this.#chance;
    const kind = below(1_000);
    const user = below(10) < 7 ? this.#users[0]! : pick(this.#users);
    if (kind < 690) {
      const asked = this.#maker.structured();
      return this.#note('structured', asked, await this.#send(user, asked));
    }
    const asked = this.#maker.odd();
    if (kind < 920) return this.#note('odd', asked, await this.#send(user, asked));
    if (kind < 995) {
      const bytes = rawRequest(asked, this.#chance);
      return this.#note('raw', { ...asked, body: bytes }, await user.speak(bytes, 100));
    }
    const [name, act] = pick(Object.entries(connectionOddities));
    const other = new DoorConnection(pick(this.#targets));
    await act(other, this.#maker);
    other.close();
    this.#note('connection', { ...asked, path: name }, { code: undefined, how: 'left' });
  }

  #send(user: DoorConnection, asked: DoorRequest): Promise<DoorOutcome> {
    return this.#chance.below(2) === 0 ? user.overHttp2(asked) : user.overHttp1(asked);
  }

  #note(kind: string, { method, path, headers, body }: DoorRequest, { code, how }: DoorOutcome): void {
    const { tally } = this;
    const name = code === undefined ? how : `${code}`;
    tally.requests++;
    tally.byKind[kind] = (tally.byKind[kind] ?? 0) + 1;
    tally.byCode[name] = (tally.byCode[name] ?? 0) + 1;
    if (code !== 500 && how !== 'silent') return;
    const said = Buffer.from(body ?? [])
      .subarray(0, 300)
      .toString('latin1');
    tally.faults.push(`${name} ${kind} ${method} ${path.slice(0, 300)} ${JSON.stringify(headers).slice(0, 300)} ${said}`);
  }
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
