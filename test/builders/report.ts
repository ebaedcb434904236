import type { PodReport } from '../../agent/pod/pod-report.ts';
import { createStatusReport, type StatusReportOptions } from '../../agent/status/status-report.ts';

/** The agent's own report of statuses, for tests of what calls it: `set` receives the statuses to write. */
export function statusReport({
  set,
  ...parts
}: Pick<StatusReportOptions, 'events' | 'health' | 'backOff' | 'clock'> & {
  readonly set: StatusReportOptions['writer']['set'];
}): PodReport {
  return createStatusReport({ ...parts, writer: { set, write: async () => {}, forget: () => {} }, hostIP: '10.0.0.1' });
}
