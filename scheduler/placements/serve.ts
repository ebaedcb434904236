import { asApiError, internal } from '../../api/errors/index.ts';
import { type Client, type Clock, createBackoff, type Logger, pause } from '../../client/index.ts';
import { audienceOf } from '../framework/audience.ts';
import { PluginFault } from '../framework/plugin-fault.ts';
import type { Explainer } from './explainer.ts';

export interface ServeOptions {
  readonly client: Pick<Client, 'placements'>;
  readonly schedulerName: string;
  readonly explainer: Explainer;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Answers what others ask the API server about this scheduler's pods, until aborted;
 * opens the stream again when it breaks.
 */
export async function servePlacements(options: ServeOptions, signal: AbortSignal): Promise<void> {
  const { client, schedulerName, clock, logger } = options;
  const backoff = createBackoff({ initialMs: 500, maxMs: 60_000 });
  while (!signal.aborted) {
    const startedAt = clock.now();
    try {
      await client.placements.serve(schedulerName, (question) => answer(options, question, signal), { signal });
    } catch (err) {
      if (!signal.aborted) logger.debug({ err }, 'questions cannot be answered, will try again');
    }
    if (clock.now() - startedAt > 60_000) backoff.reset();
    await pause(backoff.next(), signal, clock);
  }
}

type Question = Parameters<Parameters<Client['placements']['serve']>[1]>[0];
type Answer = Awaited<ReturnType<Parameters<Client['placements']['serve']>[1]>>;

/** A failing plugin is reported to the caller. */
async function answer(
  { explainer, schedulerName, logger }: ServeOptions,
  { why, simulate, list, audience }: Question,
  signal: AbortSignal,
): Promise<Answer> {
  try {
    if (why) return { explanation: explainer.why(why, audienceOf(audience)) };
    if (simulate) return { simulation: await explainer.simulate(simulate, { audience: audienceOf(audience), signal }) };
    return { placements: explainer.list(list ?? {}) };
  } catch (error) {
    if (error instanceof PluginFault) {
      logger.debug({ err: error }, 'a plugin kept a question from being answered');
      throw internal(`${error.message}; ${whatToDo(schedulerName)}`, error);
    }
    throw asApiError(error) ?? internal(error instanceof Error ? error.message : String(error), error);
  }
}

/** Pods are not placed either as long as it fails. */
function whatToDo(schedulerName: string): string {
  const disable = `take it out of profile "${schedulerName}" in the scheduler's configuration (plugins.disabled, or its entry in plugins.enabled)`;
  return `pods of this scheduler wait for that, too: mend the plugin, or ${disable}, and start the scheduler again`;
}
