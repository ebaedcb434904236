import { visible } from '../../cli/printers/visible.ts';
import type { AuditLine } from './read-audit.ts';

/** What of the log is shown; what is absent may be anything. */
export interface AuditFilter {
  readonly user?: string | undefined;
  readonly verb?: string | undefined;
  /** A resource: "pods". */
  readonly resource?: string | undefined;
  readonly namespace?: string | undefined;
  /** Milliseconds since 1970. */
  readonly since?: number | undefined;
}

/** Whether a line is shown. Where lines are missing is always shown. */
export function isShown(line: AuditLine, { user, verb, resource, namespace, since }: AuditFilter): boolean {
  if (since !== undefined && !(Date.parse(line.time ?? '') >= since)) return false;
  if (line.lost !== undefined) return true;
  if (line.leftOut !== undefined) return user === undefined || line.user === user;
  return (
    (user === undefined || line.user === user || line.by === user) &&
    (verb === undefined || line.verb === verb) &&
    (resource === undefined || line.resource === resource) &&
    (namespace === undefined || line.namespace === namespace)
  );
}

export const auditHeadings = ['TIME', 'USER', 'VERB', 'RESOURCE', 'NAMESPACE', 'NAME', 'OUTCOME'];

/** The cells of a line. Nothing that a client sent reaches the terminal as a control character. */
export function auditCells(line: AuditLine): string[] {
  if (line.lost !== undefined) return [line.time ?? '', `${line.lost} lines are missing here: they could not be written`];
  if (line.leftOut !== undefined) return leftOutCells(line);
  const { time = '', user = '', by, verb = '', resource = '', subresource, namespace, name, stage, code = '', message } = line;
  const ended = message ? `${code}: ${message}` : code;
  const outcome = `${stage === 'begun' ? 'begun' : ended}${moreOf(line)}`;
  return [
    time,
    by === undefined ? user : `${user} (by ${by})`,
    verb,
    subresource ? `${resource}/${subresource}` : resource,
    namespace ?? '<none>',
    name ?? '<none>',
    outcome,
  ].map(visible);
}

function moreOf({ moreRefused, moreReads }: AuditLine): string {
  if (moreReads) return ' (reads too often: more of that is left out)';
  return moreRefused ? ' (refused too often: more of that is left out)' : '';
}

function leftOutCells({ time = '', user = '', sort = '', leftOut, since = '' }: AuditLine): string[] {
  return [time, user, `${leftOut} lines of ${sort} since ${since} were left out: there were too many`].map(visible);
}
