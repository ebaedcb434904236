import { createHash } from 'node:crypto';
import { startTimeout } from '../../api/meta/timeout.ts';
import type { ForeignDocument } from '../openapi/foreign-definitions.ts';
import type { Aggregation } from './aggregation.ts';
import { askExtension, extensionFlow } from './extension-server.ts';
import type { RemoteGroup } from './remote-groups.ts';

/** How long a document is taken for the present one. */
const freshMs = 30_000;
/** How long a request for documents waits for all extension servers together; what is late is there the next time. */
const waitMs = 1_500;
const withinMs = 10_000;
const mostBytes = 4 * 1024 * 1024;
/** Of all that are kept. */
const mostKeptBytes = 16 * 1024 * 1024;

interface Known {
  readonly at: number;
  /** Undefined: the server has no such document. */
  readonly body: Buffer | undefined;
  readonly hash: string;
}

/** The OpenAPI documents of extension servers, asked for when they are read and kept for a while. */
export class ExtensionDocuments {
  readonly #aggregation: Aggregation;
  readonly #now: () => number;
  readonly #known = new Map<string, Known>();
  readonly #asking = new Map<string, Promise<void>>();

  constructor(aggregation: Aggregation, now: () => number) {
    this.#aggregation = aggregation;
    this.#now = now;
  }

  /** The documents of version 3, by their paths ("apis/example.com/v1"), with their hashes. */
  async hashes(): Promise<ReadonlyMap<string, string>> {
    const found = await this.#all([...this.#aggregation.groups], (each) => `/openapi/v3/${pathOf(each)}`, JSON_TYPE);
    return new Map(found.map(([remote, { hash }]) => [pathOf(remote), hash]));
  }

  /** The documents of version 2, each of all that a server has. */
  async v2(): Promise<readonly ForeignDocument[]> {
    const found = await this.#all([...this.#aggregation.groups], () => '/openapi/v2', JSON_TYPE);
    return found.map(([{ group, version }, { body, hash }]) => ({ group, version, body: body!, hash }));
  }

  /** The hash of one of them; undefined where there is none. */
  async hashOf(path: string): Promise<string | undefined> {
    const remote = this.#remoteOf(path);
    return remote && (await this.#all([remote], (each) => `/openapi/v3/${pathOf(each)}`, JSON_TYPE))[0]?.[1].hash;
  }

  /** One of them in the form that the type names; undefined where there is none. */
  async v3(path: string, type: string): Promise<Buffer | undefined> {
    const remote = this.#remoteOf(path);
    if (!remote) return undefined;
    await this.#refresh(remote, `/openapi/v3/${path}`, type);
    return this.#known.get(keyOf(remote, `/openapi/v3/${path}`, type))?.body;
  }

  #remoteOf(path: string): RemoteGroup | undefined {
    const [first, group = '', version = '', ...more] = path.split('/');
    return first === 'apis' && more.length === 0 ? this.#aggregation.groups.find(group, version) : undefined;
  }

  async #all(
    remotes: readonly RemoteGroup[],
    urlOf: (remote: RemoteGroup) => string,
    type: string,
  ): Promise<[RemoteGroup, Known][]> {
    const late = startTimeout(waitMs);
    const isLate = new Promise<void>((resolve) => late.signal.addEventListener('abort', () => resolve(), { once: true }));
    const asked = remotes.filter(({ isAvailable }) => isAvailable).map((each) => this.#refresh(each, urlOf(each), type));
    if (asked.length > 0) await Promise.race([Promise.all(asked), isLate]);
    late.clear();
    return remotes.flatMap((each) => {
      const known = this.#known.get(keyOf(each, urlOf(each), type));
      return known?.body ? [[each, known] as [RemoteGroup, Known]] : [];
    });
  }

  /** Never throws: what cannot be read stays as it was. */
  #refresh(remote: RemoteGroup, url: string, type: string): Promise<void> {
    const key = keyOf(remote, url, type);
    const known = this.#known.get(key);
    if (known && this.#now() - known.at < freshMs) return Promise.resolve();
    let asking = this.#asking.get(key);
    if (!asking) {
      asking = this.#ask(remote, url, type).finally(() => this.#asking.delete(key));
      this.#asking.set(key, asking);
    }
    return asking;
  }

  async #ask(remote: RemoteGroup, path: string, accept: string): Promise<void> {
    const { deps } = this.#aggregation;
    if (!deps) return;
    let body: Buffer | undefined;
    const key = keyOf(remote, path, accept);
    const { signal } = new AbortController();
    try {
      const answer = await askExtension(remote, { path, accept, withinMs, mostBytes }, deps, { flow: extensionFlow, signal });
      body = answer.code === 200 ? answer.body : undefined;
    } catch {
      // Whether the server answers at all is said in the status of its APIService.
      body = this.#known.get(key)?.body;
    }
    this.#known.delete(key);
    const hash = createHash('sha256')
      .update(body ?? '')
      .digest('hex')
      .toUpperCase();
    this.#known.set(key, { at: this.#now(), body, hash });
    this.#bound();
  }

  /** Drops documents of groups that have gone, and those that were asked for longest ago. */
  #bound(): void {
    const there = new Set([...this.#aggregation.groups].map(({ name }) => name));
    let bytes = 0;
    for (const [key, { body }] of [...this.#known].reverse()) {
      bytes += body?.length ?? 0;
      if (bytes > mostKeptBytes || !there.has(key.slice(0, key.indexOf(' ')))) this.#known.delete(key);
    }
  }
}

const JSON_TYPE = 'application/json';
const pathOf = ({ group, version }: RemoteGroup): string => `apis/${group}/${version}`;
const keyOf = ({ name }: RemoteGroup, url: string, type: string): string => `${name} ${url} ${type}`;
