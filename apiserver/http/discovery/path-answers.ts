import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { unimplemented } from '../../../api/errors/index.ts';
import { contentTypes, formatFor, formatMetrics, type MetricsRegistry } from '../../../api/metrics/index.ts';
import type { Aggregation } from '../../aggregation/aggregation.ts';
import { isStale, mergedGroups } from '../../aggregation/merged-groups.ts';
import type { TokenKeys } from '../../authn/accounts/token-keys.ts';
import { type HealthDeps, type HealthPageName, healthPage, healthPages } from '../../calls/health-page.ts';
import type { Registry } from '../../registry/registry.ts';
import { aggregatedList, aggregatedType, wantedAggregation } from './aggregated-discovery.ts';
import { apiGroup, coreVersions, groupList, resourceList, type ServedGroups, servedGroups } from './discovery.ts';
import { issuerDocument } from './issuer-documents.ts';
import { kubernetesVersion } from './kubernetes-version.ts';
import { indented, jsonAnswer, type PathAnswer, type PathQuestion, withTag } from './path-answer.ts';

export interface PathAnswersOptions extends Omit<HealthDeps, 'storage'> {
  readonly registry: Registry;
  /** Whether the server takes calls. */
  readonly isServing: () => boolean;
  /** What signs the tokens of service accounts. */
  readonly tokenKeys: TokenKeys;
  /** The groups that extension servers serve. */
  readonly aggregation: Aggregation;
  /** What /metrics answers. */
  readonly metrics: MetricsRegistry;
  readonly now: () => Date;
}

type OpenApi = (question: PathQuestion) => Promise<PathAnswer | undefined>;

const text = 'text/plain; charset=utf-8';

function healthOf(path: string): HealthPageName | undefined {
  const end = path.indexOf('/', 1);
  const first = path.slice(1, end < 0 ? undefined : end);
  return healthPages.find((name) => name === first);
}

/** The method that calls of no resource count as. */
export const KINDS = '/berth.meta.v1.Objects/Kinds';

/** Whether a path is answered without credentials: the health of the server, and its version. */
export const isPublicPath = (path: string): boolean => healthOf(path) !== undefined || /^\/version\/?$/.test(path);

/** Answers the paths that are no resources: health, metrics, version, discovery. */
export class PathAnswers {
  readonly #options: PathAnswersOptions;
  /** Loaded with the first read of a document. */
  #openApi: Promise<OpenApi> | undefined;

  constructor(options: PathAnswersOptions) {
    this.#options = options;
  }

  /** Throws METHOD_NOT_ALLOWED for what is more than a read. The caller has been authorized. */
  async answer(question: PathQuestion): Promise<PathAnswer> {
    const answer = await this.#find(question);
    if (!answer) return { code: 404, contentType: text, body: Buffer.from('404 page not found\n') };
    if (question.method !== 'GET' && question.method !== 'HEAD') throw unimplemented(`${question.path} can only be read`);
    return answer;
  }

  async #find(question: PathQuestion): Promise<PathAnswer | undefined> {
    const { path, query } = question;
    const health = healthOf(path);
    if (health) return this.#health(health, path, query);
    const issuer = issuerDocument(path, this.#options.tokenKeys, this.#options.now());
    if (issuer) return { ...jsonAnswer(issuer.body), contentType: issuer.contentType };
    const { registry, aggregation } = this.#options;
    if (path.startsWith('/openapi/')) {
      await registry.stores.settled();
      return (await this.#loadOpenApi())(question);
    }
    const [, first = '', group = '', version = '', ...more] = path.replace(/\/$/, '').split('/');
    if (more.length > 0) return undefined;
    if (first === 'version' && group === '') return indented(kubernetesVersion());
    if (first === 'metrics' && group === '') return metricsAnswer(question, this.#options.metrics);
    await registry.stores.settled();
    const served = mergedGroups(servedGroups(registry.stores), aggregation.groups);
    if (first === '') return indented({ paths: pathsOf(served) });
    if (first === 'api' && version === '')
      return group === '' ? roots(question, served, 'core', aggregation) : listed(served, group);
    if (first !== 'apis') return undefined;
    if (group === '') return roots(question, served, 'groups', aggregation);
    if (version !== '') return listed(served, `${group}/${version}`);
    const found = apiGroup(served, group);
    return found && jsonAnswer(found);
  }

  #loadOpenApi(): Promise<OpenApi> {
    this.#openApi ??= (async () => {
      const [{ answerOpenApi }, { OpenApiDocuments }, { ExtensionDocuments }] = await Promise.all([
        import('./openapi-answers.ts'),
        import('../../openapi/documents.ts'),
        import('../../aggregation/extension-documents.ts'),
      ]);
      const { registry, aggregation, now } = this.#options;
      const extensions = new ExtensionDocuments(aggregation, () => now().getTime());
      const documents = { own: new OpenApiDocuments(registry), extensions };
      return (question: PathQuestion) => answerOpenApi(documents, question);
    })();
    return this.#openApi;
  }

  async #health(name: HealthPageName, path: string, query: URLSearchParams): Promise<PathAnswer | undefined> {
    const [, , only, ...more] = path.replace(/\/$/, '').split('/');
    if (more.length > 0) return undefined;
    if (name === 'readyz' && only === undefined && !this.#options.isServing())
      return { code: 503, contentType: text, body: Buffer.from('not ready') };
    const asked = { verbose: query.has('verbose'), exclude: query.getAll('exclude'), ...(only === undefined ? {} : { only }) };
    const { registry, stopping, log } = this.#options;
    const page = await healthPage(name, asked, { storage: registry.storage, stopping, log });
    return page && { code: page.status, contentType: page.contentType, body: Buffer.from(page.text) };
  }
}

function metricsAnswer({ headers }: PathQuestion, metrics: MetricsRegistry): PathAnswer {
  const format = formatFor(headers.accept);
  return { code: 200, contentType: contentTypes[format], body: Buffer.from(formatMetrics(metrics, format)) };
}

/** What / answers: where there is something to read. */
function pathsOf(served: ServedGroups): string[] {
  const groups = [...served].flatMap(([group, versions]) =>
    group === '' ? [] : [`/apis/${group}`, ...[...versions.keys()].map((version) => `/apis/${group}/${version}`)],
  );
  const others = ['/healthz', '/livez', '/metrics', '/openapi/v2', '/openapi/v3', '/readyz', '/version'];
  return ['/api', '/api/v1', '/apis', ...groups, ...others].sort();
}

function roots({ headers }: PathQuestion, served: ServedGroups, of: 'core' | 'groups', { groups }: Aggregation): PathAnswer {
  const version = wantedAggregation(headers.accept);
  if (version === undefined) {
    const plain = jsonAnswer(of === 'core' ? coreVersions(headers.host ?? '') : groupList(served));
    return { ...plain, headers: { vary: 'Accept' } };
  }
  const { body } = jsonAnswer(aggregatedList(served, of, { version, isStale: (...names) => isStale(groups, ...names) }));
  return tagged(headers, { code: 200, contentType: aggregatedType(version), body, headers: { vary: 'Accept' } });
}

function listed(served: ServedGroups, groupVersion: string): PathAnswer | undefined {
  const found = resourceList(served, groupVersion);
  return found && jsonAnswer(found);
}

/** The answer with an ETag of its bytes; without its body for a client that has it. */
function tagged(asked: IncomingHttpHeaders, answer: PathAnswer & { readonly body: Buffer }): PathAnswer {
  return withTag(asked, createHash('sha256').update(answer.body).digest('hex'), answer);
}
