import { ExitWith } from '../../cli/program/failure.ts';
import { listBerthProcesses } from './berth-processes.ts';

/**
 * For commands that work on the files of a stopped server. The store's own lock refuses as well; this says what to do.
 */
export function refuseRunning(dataDir: string): void {
  const server = listBerthProcesses(dataDir).find(({ name }) => name === 'server');
  if (server === undefined) return;
  throw new ExitWith(
    1,
    `a server runs with ${dataDir} (process ${server.pid}): stop it first with "berth down --data-dir ${dataDir}"; containers go on running`,
  );
}
