import type { NamesChange } from '../../agent/names/changes.ts';
import { Meter } from '../../agent/names/meter.ts';
import { PodNamespaces } from '../../agent/names/pod-namespaces.ts';
import { NameIndex } from '../../agent/names/records.ts';
import { later, Responder } from '../../agent/names/responder.ts';
import { SearchPaths } from '../../agent/names/search-path.ts';
import { Forwarder } from '../../agent/names/upstream/forwarder.ts';
import { encodeQuestion, questionEnd } from '../../agent/names/upstream/question.ts';
import { type CacheLimits, defaultCacheLimits } from '../../agent/names/upstream/reply-cache.ts';
import { encodeName, labelsOf, maxMessageSize } from '../../agent/names/wire.ts';
import { Zones } from '../../agent/names/zones.ts';
import { query, read, type Said } from '../builders/names.ts';
import { createFakeClock } from './fake-clock.ts';

export interface AskOptions {
  readonly from?: string;
  readonly overTcp?: boolean;
  readonly udpSize?: number;
  readonly dnssecOk?: boolean;
}

/** What an upstream server says to a query; undefined: nothing, as one that is away. */
export type UpstreamScript = (asked: Buffer, name: string) => Buffer | undefined;

/**
 * A responder without sockets. `ask` gives what a client reads. Upstream is `script`; `asked` lists the names that
 * went there.
 */
export function createNamesResponder({
  changes = [],
  script = () => undefined,
  searches = [],
  cache = defaultCacheLimits,
  servers = ['192.0.2.1'],
  hold = async () => {},
}: {
  readonly changes?: readonly NamesChange[];
  readonly script?: UpstreamScript;
  readonly searches?: readonly string[];
  readonly cache?: CacheLimits;
  readonly servers?: readonly string[];
  /** Waited for before an upstream server answers. */
  readonly hold?: () => Promise<void>;
} = {}) {
  const clock = createFakeClock();
  const meter = new Meter();
  const index = new NameIndex(encodeName('cluster.local')!, '169.254.1.1');
  const zones = new Zones(index, ['10.42.0.0/16', '10.43.0.0/16', 'fd00:42::/48']);
  const namespaces = new PodNamespaces();
  const searchPaths = new SearchPaths(zones);
  searchPaths.setMachine(searches.map((domain) => encodeName(domain)!));
  const asked: string[] = [];
  const edns: boolean[] = [];
  const forwarder = new Forwarder({
    clock,
    meter,
    cache,
    onExchange: () => {},
    async exchange(server, question, { withEdns }) {
      const message = encodeQuestion(question, 1, withEdns);
      const name = labelsOf(question.key).join('.');
      asked.push(servers.length > 1 ? `${server.address} ${name}` : name);
      edns.push(withEdns);
      await hold();
      const answer = script(servers.length > 1 ? Object.assign(message, { server: server.address }) : message, name);
      if (answer === undefined) throw new Error('no answer');
      if (answer.length > 12 && answer.length < questionEnd(question)) throw new Error('too short');
      return answer;
    },
  });
  forwarder.configure({
    servers: servers.map((address) => ({ address, port: 53 })),
    searches: [],
    attempts: 2,
    own: [],
  });
  const seen: string[] = [];
  const responder = new Responder({
    zones,
    searchPaths,
    forwarder,
    meter,
    namespaceOf: (address) => namespaces.of(address),
    onHostInfo: (key) => seen.push(key),
  });
  const out = Buffer.alloc(maxMessageSize);
  const send = (message: Buffer, { from = '198.51.100.1', overTcp = false }: AskOptions = {}): Promise<Buffer | undefined> => {
    const length = responder.respond(message, from, overTcp, out);
    if (length > 0) return Promise.resolve(Buffer.from(out.subarray(0, length)));
    if (length !== later) return Promise.resolve(undefined);
    return new Promise((resolve) => responder.complete(responder.takeTask(), (bytes) => resolve(Buffer.from(bytes))));
  };
  const apply = (...list: readonly NamesChange[]): void => {
    for (const change of list) {
      index.apply(change);
      namespaces.apply(change);
    }
  };
  apply(...changes);
  return {
    clock,
    meter,
    index,
    forwarder,
    asked,
    responder,
    edns,
    seen,
    send,
    apply,
    async ask(name: string, type = 'A', options: AskOptions = {}): Promise<Said> {
      const answer = await send(query(name, type, options), options);
      return answer === undefined
        ? { rcode: 'none', answers: [], authorities: [], flags: { aa: false, tc: false } }
        : read(answer);
    },
  };
}
