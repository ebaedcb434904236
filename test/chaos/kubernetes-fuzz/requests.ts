import { toUSVString } from 'node:util';
import fc from 'fast-check';
import { groupOf } from '../../../api/kinds/identity.ts';
import { kinds } from '../../../api/kinds/index.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import { envelope } from '../../../apiserver/http/protobuf/kubernetes-protobuf.ts';
import { mutate } from '../fuzz/mutate.ts';
import { objectBytes, patchBytes, sampleOf } from '../fuzz/objects.ts';
import { names, strangeTexts } from '../fuzz/words.ts';
import type { Chance } from '../random.ts';

/** A request, of which nothing has to be right. */
export interface DoorRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | undefined;
  /** The client goes after so long, whatever has come; absent: as long as it takes. */
  readonly patienceMs?: number;
}

const namespaces = ['default', 'default', 'fuzz', 'fuzz-2', 'kube-system', 'nowhere'];
const subresources = ['status', 'scale', 'log', 'exec', 'attach', 'portforward', 'proxy', 'eviction', 'binding', 'token'];
const moreSubresources = ['finalize', 'approval', 'ephemeralcontainers', 'resize', 'x', '__proto__', 'constructor'];
const selectors = [
  '',
  'app=web',
  'app in (a,b)',
  '!app',
  '=',
  ',',
  'app in (',
  `${'a=b,'.repeat(400)}a`,
  `a=${'x'.repeat(9_000)}`,
];
const whole = ['', '0', '1', '-1', '5', '100', '1e3', '999999999999999', '9007199254740993', 'x', ' 1'];
const flags = ['', 'true', 'false', '1', '0', 'yes', '__proto__'];

const parameters: Readonly<Record<string, readonly string[]>> = {
  labelSelector: selectors,
  fieldSelector: [...selectors, 'metadata.name=a', 'spec.nodeName=n1', 'constructor=1', '__proto__=x'],
  resourceVersion: whole,
  resourceVersionMatch: ['', 'Exact', 'NotOlderThan', 'x'],
  continue: ['', 'x', 'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MX0', '%%%', 'A'.repeat(5_000)],
  limit: whole,
  timeoutSeconds: ['0', '1', '1', '-1', 'x', '999999999999'],
  allowWatchBookmarks: flags,
  sendInitialEvents: flags,
  dryRun: ['All', 'All', '', 'None', 'all'],
  fieldManager: ['', 'fuzz', 'x'.repeat(200), 'a\nb', '\u00e4'],
  fieldValidation: ['', 'Strict', 'Warn', 'Ignore', 'x'],
  force: flags,
  pretty: flags,
  includeObject: ['None', 'Metadata', 'Object', 'x'],
  gracePeriodSeconds: whole,
  propagationPolicy: ['Background', 'Foreground', 'Orphan', 'x', ''],
  orphanDependents: flags,
  tailLines: whole,
  sinceSeconds: whole,
  limitBytes: whole,
  sinceTime: ['2026-01-01T00:00:00Z', 'now', '0000-00-00T00:00:00Z', '+275760-09-13T00:00:00.001Z'],
  container: ['a', '', '..', 'main'],
  command: ['sh', '', '\0'],
  stdin: flags,
  stdout: flags,
  path: ['/x', '..', '//'],
  ports: whole,
  hash: ['x', '../../x', 'a\r\nset-cookie: b'],
  timeout: ['1s', '0s', 'x', '-1s', '1h'],
  exclude: ['storage', 'x'],
  verbose: flags,
};

/** What makes an answer go on for ever: only of requests whose client goes. */
const endless: readonly string[] = [
  'watch=true',
  'watch=',
  'watch=x',
  'follow=true',
  'watch=1&watch=0',
  'sendInitialEvents=true',
];

const accepts = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/vnd.kubernetes.protobuf;stream=watch',
  'application/json;stream=watch',
  'application/json;as=Table;v=v1;g=meta.k8s.io,application/json',
  'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
  'application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json',
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
  'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
  '__proto__',
  'constructor;as=Table',
  '*/*;q=x',
  ', , ;;=',
  'text/html',
  `${'application/json,'.repeat(500)}x`,
];
const contentTypes = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/json-patch+json',
  'application/apply-patch+yaml',
  'application/json; charset=utf-8',
  '__proto__',
  'text/plain',
  '',
  ';',
];
const patchTypes = contentTypes.slice(3, 7);

const strangeHeaders: readonly Readonly<Record<string, string>>[] = [
  { 'impersonate-user': 'bob' },
  { 'impersonate-user': 'system:node:n1', 'impersonate-group': 'system:nodes' },
  { 'impersonate-user': 'system:serviceaccount:default:default' },
  { 'impersonate-user': '' },
  { 'impersonate-group': 'system:masters' },
  { 'impersonate-user': 'a', 'impersonate-extra-%zz': 'x' },
  { 'impersonate-user': 'a', 'impersonate-extra-__proto__': 'x', 'impersonate-uid': '__proto__' },
  { 'impersonate-user': '%00%' },
  { 'x-request-id': 'x'.repeat(5_000) },
  { 'user-agent': `${'x'.repeat(5_000)}/1` },
  { origin: 'https://evil.example' },
  { 'sec-fetch-site': 'cross-site' },
  { 'content-encoding': 'gzip' },
  { 'accept-encoding': 'gzip, br;q=0, *' },
  { authorization: 'Bearer' },
  { authorization: 'Basic eA==' },
  { 'if-none-match': ',"",W/"x"' },
  { range: 'bytes=0-1' },
  { expect: 'nothing' },
  { 'x-large': 'x'.repeat(30_000) },
  Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`x-${i}`, 'y'])),
];

const yamls: readonly string[] = [
  'kind: ConfigMap\nmetadata: {name: a}\n',
  'a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n',
  `a0: &a0 x\n${Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}, *a${i}]\n`).join('')}`,
  'a: *nothing\n',
  'a: &a\n  b: *a\n',
  '--- {}\n--- {}\n',
  '!!js/function "x"\n',
  '? {a: b}\n: c\n',
  `${'  '.repeat(3_000)}a: b`,
  `${'['.repeat(3_000)}`,
  '<<: {metadata: {name: a}}\n__proto__: {x: 1}\n',
  'metadata: {name: 0o17, labels: {a: 1e400}}\n',
];

/** Nested as deep as it has bytes: fields of number 1, each within the one before. */
const nestedProtobuf = (() => {
  let bytes: Buffer<ArrayBufferLike> = Buffer.alloc(0);
  for (let i = 0; i < 3_000; i++) {
    const length = bytes.length < 128 ? [bytes.length] : [(bytes.length % 128) + 128, bytes.length >> 7];
    bytes = Buffer.concat([Buffer.from([10, ...length]), bytes]);
  }
  return bytes;
})();

const others = [
  '/',
  '/api',
  '/apis',
  '/apis/apps',
  '/apis/apps/v1',
  '/apis/metrics.k8s.io/v1beta1/nodes',
  '/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/a',
  '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
  '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
  '/apis/authorization.k8s.io/v1/subjectaccessreviews',
  '/apis/authentication.k8s.io/v1/tokenreviews',
  '/apis/authentication.k8s.io/v1/selfsubjectreviews',
  '/openapi/v2',
  '/openapi/v3',
  '/openapi/v3/apis/apps/v1',
  '/openapi/v3/__proto__',
  '/version',
  '/metrics',
  '/healthz',
  '/readyz/storage',
  '/livez/__proto__',
  '/.well-known/openid-configuration',
  '/openid/v1/jwks',
  '/api/v1/watch/pods',
  '/api/v1/watch/namespaces/default/configmaps/a',
  '/api/v1/namespaces/default/services/a:80/proxy/x',
  '/api/v1/namespaces/default/pods/https:a:443/proxy/../../x',
  '/api/v1/nodes/n1/proxy/stats/summary',
  '/constructor',
  '/__proto__/toString',
];

const segments = [...strangeTexts.filter((each) => each.length < 1_000), 'pods', 'namespaces', 'v1', 'api', 'apis', 'watch'];
const written: readonly ((text: string) => string)[] = [
  (text) => encodeURIComponent(toUSVString(text)),
  (text) =>
    Buffer.from(text)
      .toString('latin1')
      .replace(/[^!-~]/g, '_'),
  (text) => [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  () => '%2f',
  () => '%2e%2e',
  () => '%zz',
  () => '',
];

/** Makes requests of all sorts. */
export class RequestMaker {
  readonly #chance: Chance;
  readonly #pools = new Map<fc.Arbitrary<Uint8Array>, Uint8Array[]>();

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  /** One that a client might send, mostly. */
  structured(): DoorRequest {
    const { pick, below } = this.#chance;
    const kind = pick(kinds);
    const method = pick(['GET', 'GET', 'GET', 'POST', 'POST', 'PUT', 'PATCH', 'PATCH', 'DELETE', 'HEAD']);
    const hasName = method === 'POST' ? below(10) === 0 : method === 'GET' ? below(2) === 0 : below(20) > 0;
    const name = pick(names);
    const sub = hasName && below(4) === 0 ? `/${pick(below(4) > 0 ? subresources : moreSubresources)}` : '';
    const namespace = pick(namespaces);
    const path = `${placeOf(kind, kind.namespaced && below(20) > 0 ? namespace : '')}${hasName ? `/${name}` : ''}${sub}`;
    const query = this.#query(below(3) === 0 ? below(4) : 0);
    const isWatch = method === 'GET' && !hasName && below(4) === 0;
    const headers: Record<string, string> = below(2) === 0 ? { accept: pick(accepts) } : {};
    const patience = isWatch || sub !== '' ? { patienceMs: 150 } : {};
    if (!['POST', 'PUT', 'PATCH', 'DELETE'].includes(method))
      return { method, path: `${path}?${isWatch ? 'watch=1&' : ''}${query}`, headers, ...patience };
    const { body, type } = this.#body(method, kind, name, namespace);
    return { method, path: `${path}?${query}`, headers: { ...headers, 'content-type': type }, body, ...patience };
  }

  /** One whose path, query or headers were made to be misread. */
  odd(): DoorRequest {
    const { pick, below } = this.#chance;
    const method = pick([
      'GET',
      'GET',
      'POST',
      'DELETE',
      'OPTIONS',
      'TRACE',
      'PROPFIND',
      'HEAD',
      'PATCH',
      'constructor',
      '__proto__',
    ]);
    const headers: Record<string, string> = { ...(below(2) === 0 ? pick(strangeHeaders) : {}), accept: pick(accepts) };
    const body = method === 'POST' || method === 'PATCH' ? Buffer.from('{}') : undefined;
    if (body) headers['content-type'] = pick(contentTypes);
    return { method, path: `${this.#oddPath()}?${this.#oddQuery()}`, headers, body, patienceMs: 1_000 };
  }

  #oddPath(): string {
    const { pick, below } = this.#chance;
    switch (below(4)) {
      case 0:
        return pick(others);
      case 1:
        return `/${Array.from({ length: 1 + below(9) }, () => pick(written)(pick(segments))).join('/')}`;
      case 2:
        return `${placeOf(pick(kinds), pick(written)(pick(segments)))}/${pick(written)(pick(segments))}`;
      default:
        return `${pick(['', '//', '/./', '/../', '\\'])}${pick(others)}${pick(['/', '//', '/x/y/z', '%00', ';a=b', '?', '#x'])}`;
    }
  }

  #query(count: number): string {
    const { pick } = this.#chance;
    return Array.from({ length: count }, () => {
      const name = pick(Object.keys(parameters));
      return `${name}=${encodeURIComponent(pick(parameters[name]!))}`;
    }).join('&');
  }

  #oddQuery(): string {
    const { pick, below } = this.#chance;
    switch (below(5)) {
      case 0:
        return Array.from({ length: 3_000 }, (_, i) => `a${i}=b`).join('&');
      case 1:
        return `${pick(endless)}&limit=1&limit=2&${this.#query(3)}&${this.#query(3)}`;
      case 2:
        return `${pick(written)(pick(segments))}=${pick(written)(pick(segments))}&=&&==&%`;
      default:
        return this.#query(below(6));
    }
  }

  #body(method: string, kind: Kind, name: string, namespace: string): { readonly body: Uint8Array; readonly type: string } {
    const { pick, below } = this.#chance;
    if (method === 'PATCH') return { body: this.#take(patchBytes), type: pick(below(10) > 0 ? patchTypes : contentTypes) };
    if (method === 'DELETE' && below(2) === 0) return { body: Buffer.from(pick(deletions)), type: 'application/json' };
    const sample = Buffer.from(JSON.stringify(sampleOf(kind, name, namespace)));
    switch (below(8)) {
      case 0:
      case 1:
      case 2:
        return { body: sample, type: 'application/json' };
      case 3:
        return { body: mutate(sample, this.#chance), type: pick(contentTypes) };
      case 4:
        return { body: Buffer.from(pick(yamls)), type: 'application/yaml' };
      case 5: {
        const bytes = below(4) === 0 ? nestedProtobuf : this.#take(objectBytes);
        const body = envelope(kind, bytes);
        return { body: below(2) === 0 ? body : mutate(body, this.#chance), type: 'application/vnd.kubernetes.protobuf' };
      }
      default:
        return { body: this.#take(objectBytes), type: pick(contentTypes.slice(0, 3)) };
    }
  }

  /** Made by fast-check, for many at a time. */
  #take(arbitrary: fc.Arbitrary<Uint8Array>): Uint8Array {
    const pool = this.#pools.get(arbitrary) ?? [];
    const known = pool.pop();
    if (known) return known;
    const seed = this.#chance.below(2 ** 31);
    this.#pools.set(arbitrary, fc.sample(arbitrary, { numRuns: 300, seed }));
    return this.#pools.get(arbitrary)!.pop()!;
  }
}

const deletions = [
  '{}',
  '{"gracePeriodSeconds":0}',
  '{"preconditions":{"uid":"x"}}',
  '{"propagationPolicy":"Orphan"}',
  '{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":-1}',
  '[]',
  'null',
  '{"preconditions":null,"__proto__":{}}',
];

/** Where the objects of a kind are: "/apis/apps/v1/namespaces/default/deployments". */
function placeOf({ apiVersion, plural }: Kind, namespace: string): string {
  const root = groupOf(apiVersion) === '' ? `/api/${apiVersion}` : `/apis/${apiVersion}`;
  return `${root}${namespace === '' ? '' : `/namespaces/${namespace}`}/${plural}`;
}
