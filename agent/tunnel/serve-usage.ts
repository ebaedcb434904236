import { ApiError, badRequest } from '../../api/errors/index.ts';
import type { GetUsageHistoryRequest, UsageHistory as UsageHistoryMessage, UsageSeries } from '../../api/generated/types.ts';
import { timestamp } from '../../api/meta/time.ts';
import { containerSeries, nodeSeries, podSeries, type UsageHistory } from '../machine/usage-history.ts';

export interface HistoryRequest {
  readonly history: UsageHistory;
  readonly nodeName: string;
  /** Of the pod; empty for the node. */
  readonly podUid: string;
  readonly wanted: GetUsageHistoryRequest;
}

/** So that an answer stays below a message's size: more containers are asked for one by one. */
const mostContainers = 50;

/** The last hour of a pod with its containers, or of the node. Throws ApiError. */
export function computeUsageHistory({ history, nodeName, podUid, wanted }: HistoryRequest): UsageHistoryMessage {
  const times = history.moments().map((ms) => timestamp(new Date(ms)));
  if (podUid === '') return { nodeName, times, series: seriesOf(history, '', '', nodeSeries) };
  const { podName = '', container = '' } = wanted;
  const prefix = `${podUid}/`;
  const names = history.keys(prefix).map((key) => key.slice(prefix.length));
  const chosen = container === '' ? names : names.filter((name) => name === container);
  if (chosen.length === 0) throw noHistory(podName, container, names);
  if (chosen.length > mostContainers) throw badRequest(`pod "${podName}" has ${chosen.length} containers: name one of them`);
  return {
    nodeName,
    times,
    series: [
      ...(container === '' ? seriesOf(history, podUid, '', podSeries) : []),
      ...chosen.flatMap((name) => seriesOf(history, prefix + name, name, containerSeries)),
    ],
  };
}

function noHistory(podName: string, container: string, names: readonly string[]): Error {
  if (container !== '' && names.length > 0)
    return badRequest(`pod "${podName}" has no history of container "${container}": choose one of ${names.join(', ')}`);
  const why = 'nothing of it was measured in the last hour; agents measure every 15 s what runs';
  return new ApiError('NOT_FOUND', 'NotFound', `pod "${podName}" has no history of what it used: ${why}`);
}

function seriesOf(
  history: UsageHistory,
  key: string,
  container: string,
  figures: Readonly<Record<string, string>>,
): UsageSeries[] {
  return Object.entries(figures).flatMap(([figure, unit], at) => {
    const values = history.values(key, at);
    // Series that the machine never reported are omitted.
    return values === undefined || values.every(Number.isNaN) ? [] : [{ container, figure, unit, values: values.map(shorten) }];
  });
}

/** What is kept has 7 digits; more would be made up. */
function shorten(value: number): number {
  return Number(value.toPrecision(7));
}
