import type { Logger } from 'pino';
import { encodeMessage } from '../../api/codec/message.ts';
import { ApiError } from '../../api/errors/index.ts';
import type { GetPageRequest } from '../../api/generated/types.ts';
import { versionInfo } from '../../api/meta/version-info.ts';
import { contentTypes, formatMetrics, type MetricsRegistry } from '../../api/metrics/index.ts';
import { decodeStrictly } from '../registry/decode.ts';
import type { Registry } from '../registry/registry.ts';
import { serverVersion } from '../server-version.ts';
import type { CallPipeline } from './call-pipeline.ts';
import { serviceDefinition } from './definitions.ts';

export const PAGES_SERVICE = 'berth.server.v1.Pages';

/** A store that answers later than this is not well. */
const CHECK_MS = 5_000;

export interface PagesDeps {
  readonly metrics: MetricsRegistry;
  readonly storage: Pick<Registry['storage'], 'get'>;
  /** Aborts when the server takes no more calls. */
  readonly stopping: AbortSignal;
  readonly log: Logger;
}

interface Page {
  readonly status: 200 | 500;
  readonly contentType: string;
  readonly text: string;
}

/** Makes a page; `verbose` names every check. */
type MakePage = (verbose: boolean) => Promise<Page>;

/** Throws when something is wrong. */
type Check = () => Promise<void>;

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
  const { metrics, storage, stopping } = deps;
  const works: Readonly<Record<string, Check>> = {
    ping: async () => {},
    storage: async () => void (await storage.get('/')),
  };
  const ready = { ...works, shutdown: async () => stopping.throwIfAborted() };
  return new Map<string, MakePage>([
    ['/healthz', (verbose) => healthPage('healthz', works, verbose, deps)],
    ['/livez', (verbose) => healthPage('livez', works, verbose, deps)],
    ['/readyz', (verbose) => healthPage('readyz', ready, verbose, deps)],
    ['/version', async () => versionPage()],
    ['/metrics', async () => ({ status: 200, contentType: contentTypes.prometheus, text: formatMetrics(metrics, 'prometheus') })],
  ]);
}

function versionPage(): Page {
  const text = `${JSON.stringify(versionInfo(serverVersion()), null, 2)}\n`;
  return { status: 200, contentType: 'application/json', text };
}

async function healthPage(
  name: string,
  checks: Readonly<Record<string, Check>>,
  verbose: boolean,
  { log }: PagesDeps,
): Promise<Page> {
  const lines: string[] = [];
  let failed = 0;
  for (const [check, run] of Object.entries(checks)) {
    try {
      await inTime(run());
      lines.push(`[+]${check} ok\n`);
    } catch (error) {
      failed++;
      log.error({ check, page: name, err: error }, 'a check of health failed');
      lines.push(`[-]${check} failed: reason withheld, the log of the server has it\n`);
    }
  }
  const text = `${lines.join('')}${name} check ${failed > 0 ? 'failed' : 'passed'}\n`;
  const contentType = 'text/plain; charset=utf-8';
  return failed > 0 ? { status: 500, contentType, text } : { status: 200, contentType, text: verbose ? text : 'ok' };
}

async function inTime(check: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${CHECK_MS} ms`)), CHECK_MS);
  });
  await Promise.race([check, late]).finally(() => clearTimeout(timer));
}

function unknownPage(path: string, known: readonly string[]): ApiError {
  const advice = path.startsWith('/api') ? '; objects are read with "berth get TYPE -o json"' : '';
  return new ApiError(
    'NOT_FOUND',
    'NotFound',
    `the server has no page ${JSON.stringify(path)}: there are ${known.join(', ')}${advice}`,
  );
}
