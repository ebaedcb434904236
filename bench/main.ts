import { benchAgent } from './agent/index.ts';
import { benchApi } from './api/index.ts';
import { benchAuth } from './auth/index.ts';
import { endOnSignals } from './cleanups.ts';
import { benchCli } from './cli.ts';
import type { Figure } from './figure.ts';
import { benchGateway } from './gateway/index.ts';
import { benchIdle } from './idle.ts';
import { benchJoin } from './join.ts';
import { benchNames } from './names/index.ts';
import { benchNetwork } from './network/index.ts';
import { benchScheduler } from './scheduler/index.ts';
import { benchServices } from './services/index.ts';
import { benchStudy } from './study/index.ts';
import { UsageError } from './usage-error.ts';
import { benchWorkloads } from './workloads/index.ts';

/**
 * Every benchmark by its name; each prints what it does to standard error and returns its figures.
 * Further words choose among its parts.
 */
const benches: Readonly<Record<string, (say: (text: string) => void, parts: readonly string[]) => Promise<Figure[]>>> = {
  agent: benchAgent,
  api: benchApi,
  auth: benchAuth,
  cli: benchCli,
  gateway: benchGateway,
  idle: benchIdle,
  join: benchJoin,
  names: benchNames,
  network: benchNetwork,
  scheduler: benchScheduler,
  services: benchServices,
  study: benchStudy,
  workloads: benchWorkloads,
};

const [name = '', ...parts] = process.argv.slice(2);

async function run(): Promise<void> {
  const bench = benches[name];
  if (bench === undefined) throw new UsageError(`no benchmark is called "${name}"; there are ${Object.keys(benches).join(', ')}`);
  const figures = await bench((text) => process.stderr.write(`${text}\n`), parts);
  for (const figure of figures) process.stdout.write(`${JSON.stringify(figure)}\n`);
  if (figures.some((figure) => !figure.ok)) process.exitCode = 1;
}

endOnSignals();
await run().catch((error: unknown) => {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`error: ${error.message}\n`);
  process.exitCode = 1;
});
