import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

type Component = 'server' | 'agent';

/** Where a process of an installation says that its metrics are. */
export function metricsTarget(dataDir: string, component: Component): string {
  const run = join(dataDir, 'run');
  const file = readdirSync(run).find((name) => name.startsWith(`metrics-${component}`));
  const [{ targets }] = JSON.parse(readFileSync(join(run, file ?? ''), 'utf8'));
  return targets[0];
}

/** One of its pages of metrics. Throws while it does not serve them. */
export async function metricsPage(dataDir: string, component: Component, page = '/metrics'): Promise<string> {
  const response = await fetch(`http://${metricsTarget(dataDir, component)}${page}`);
  if (response.status !== 200) throw new Error(`${page} of the ${component}: status ${response.status}`);
  return response.text();
}

/** The sum of the samples of a metric that have these labels. */
export function sum(page: string, name: string, labels = ''): number {
  const lines = page.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines.filter((line) => line.includes(labels)).reduce((total, line) => total + Number(line.split(' ').at(-1)), 0);
}
