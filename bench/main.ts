import { benchApi } from './api.ts';
import { benchCli } from './cli.ts';
import type { Figure } from './figure.ts';
import { benchIdle } from './idle.ts';
import { benchPods } from './pods.ts';
import { benchSchedulerDecision } from './scheduler-decision.ts';

/** Every benchmark by its name; each prints what it does to standard error and returns its figures. */
const benches: Readonly<Record<string, (say: (text: string) => void) => Promise<Figure[]>>> = {
  api: benchApi,
  cli: benchCli,
  idle: benchIdle,
  pods: benchPods,
  'scheduler-decision': benchSchedulerDecision,
};

const [name = ''] = process.argv.slice(2);
const bench = benches[name];
if (bench === undefined) {
  process.stderr.write(`error: no benchmark is called "${name}"; there are ${Object.keys(benches).join(', ')}\n`);
  process.exitCode = 1;
} else {
  const figures = await bench((text) => process.stderr.write(`${text}\n`));
  for (const figure of figures) process.stdout.write(`${JSON.stringify(figure)}\n`);
  if (figures.some((figure) => !figure.ok)) process.exitCode = 1;
}
