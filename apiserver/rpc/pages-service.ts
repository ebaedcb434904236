import { encodeMessage } from '../../api/codec/message.ts';
import { ApiError } from '../../api/errors/index.ts';
import type { GetPageRequest } from '../../api/generated/types.ts';
import { versionInfo } from '../../api/meta/version-info.ts';
import { contentTypes, formatMetrics, type MetricsRegistry } from '../../api/metrics/index.ts';
import { type HealthDeps, type HealthPage, type HealthPageName, healthPage, healthPages } from '../calls/health-page.ts';
import { decodeStrictly } from '../registry/decode.ts';
import { serverVersion } from '../server-version.ts';
import type { CallPipeline } from './call-pipeline.ts';
import { serviceDefinition } from './definitions.ts';

export const PAGES_SERVICE = 'berth.server.v1.Pages';

export interface PagesDeps extends HealthDeps {
  readonly metrics: MetricsRegistry;
  /** Where Kubernetes' HTTP API is served; none while it is not. */
  readonly kubernetesAddresses: () => readonly string[];
}

/** Makes a page; `verbose` names every check. */
type MakePage = (verbose: boolean) => Promise<HealthPage>;

/**
 * The pages that Kubernetes' API server has over HTTP, for callers with credentials. The metrics port serves /metrics
 * without.
 */
export function pagesService(deps: PagesDeps, pipeline: CallPipeline) {
  const pages = createPages(deps);
  return {
    definition: serviceDefinition(PAGES_SERVICE),
    implementation: {
      Get: pipeline.unary((request, call) => {
        const { path: asked = '' } = decodeStrictly<GetPageRequest>('berth.server.v1.GetPageRequest', request, 'request');
        const [path = '', query] = asked.split('?');
        const page = pages.get(path);
        if (page === undefined) throw unknownPage(path, [...pages.keys()]);
        call.authorizePath(path);
        return {
          run: async () => {
            const { text, ...rest } = await page(new URLSearchParams(query).has('verbose'));
            return { bytes: encodeMessage('berth.server.v1.GetPageResponse', { ...rest, body: Buffer.from(text) }) };
          },
        };
      }),
    },
  };
}

/** The pages by path. */
export function createPages(deps: PagesDeps): ReadonlyMap<string, MakePage> {
  const { metrics, kubernetesAddresses } = deps;
  const health = (name: HealthPageName): [string, MakePage] => [
    `/${name}`,
    async (verbose) => (await healthPage(name, { verbose }, deps))!,
  ];
  return new Map<string, MakePage>([
    ...healthPages.map(health),
    ['/version', async () => versionPage(kubernetesAddresses())],
    ['/metrics', async () => ({ status: 200, contentType: contentTypes.prometheus, text: formatMetrics(metrics, 'prometheus') })],
  ]);
}

function versionPage(kubernetesAddresses: readonly string[]): HealthPage {
  const text = `${JSON.stringify({ ...versionInfo(serverVersion()), kubernetesAddresses }, null, 2)}\n`;
  return { status: 200, contentType: 'application/json', text };
}

function unknownPage(path: string, known: readonly string[]): ApiError {
  const advice = path.startsWith('/api') ? '; objects are read with "berth get TYPE -o json"' : '';
  return new ApiError(
    'NOT_FOUND',
    'NotFound',
    `the server has no page ${JSON.stringify(path)}: there are ${known.join(', ')}${advice}`,
  );
}
