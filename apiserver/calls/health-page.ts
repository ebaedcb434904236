import type { Logger } from 'pino';
import type { Registry } from '../registry/registry.ts';

/** A store that answers later than this is not well. */
const CHECK_MS = 5_000;

export interface HealthDeps {
  readonly storage: Pick<Registry['storage'], 'get'>;
  /** Aborts when the server takes no more calls. */
  readonly stopping: AbortSignal;
  readonly log: Logger;
}

/** A page of text. */
export interface HealthPage {
  readonly status: 200 | 500;
  readonly contentType: string;
  readonly text: string;
}

/** Which checks a page runs, and whether it names them. */
export interface HealthQuestion {
  readonly verbose: boolean;
  /** Only this one. */
  readonly only?: string;
  readonly exclude?: readonly string[];
}

/** Throws when something is wrong. */
type Check = () => Promise<void>;

/** Throws where the store cannot be read, or answers late. */
export async function checkStorage(storage: HealthDeps['storage']): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${CHECK_MS} ms`)), CHECK_MS);
  });
  await Promise.race([storage.get('/'), late]).finally(() => clearTimeout(timer));
}

export const healthPages = ['healthz', 'livez', 'readyz'] as const;
export type HealthPageName = (typeof healthPages)[number];

/** Names of checks that Kubernetes' clients ask for, and what they are here. */
const aliases: Readonly<Record<string, string>> = { etcd: 'storage' };

function checksOf(page: HealthPageName, { storage, stopping }: HealthDeps): Readonly<Record<string, Check>> {
  const works = { ping: async () => {}, storage: () => checkStorage(storage) };
  return page === 'readyz' ? { ...works, shutdown: async () => stopping.throwIfAborted() } : works;
}

/** Runs the checks of a page; undefined for a single check that there is not. */
export async function healthPage(
  page: HealthPageName,
  { verbose, only, exclude = [] }: HealthQuestion,
  deps: HealthDeps,
): Promise<HealthPage | undefined> {
  const all = Object.entries(checksOf(page, deps));
  const known = (name: string): string => (Object.hasOwn(aliases, name) ? aliases[name]! : name);
  const left = exclude.map(known);
  const checks = all.filter(([name]) => (only === undefined ? !left.includes(name) : name === known(only)));
  if (checks.length === 0 && only !== undefined) return undefined;
  const lines: string[] = [];
  let failed = 0;
  for (const [check, run] of checks) {
    try {
      await run();
      lines.push(`[+]${check} ok\n`);
    } catch (error) {
      failed++;
      deps.log.error({ check, page, err: error }, 'a check of health failed');
      lines.push(`[-]${check} failed: reason withheld, the log of the server has it\n`);
    }
  }
  const text = `${lines.join('')}${page} check ${failed > 0 ? 'failed' : 'passed'}\n`;
  const contentType = 'text/plain; charset=utf-8';
  return failed > 0 ? { status: 500, contentType, text } : { status: 200, contentType, text: verbose ? text : 'ok' };
}
