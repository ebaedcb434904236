import { asApiError } from '../../api/errors/index.ts';
import { parseTokenText } from '../../api/kinds/secret/bootstrap-token.ts';
import { areTooFarApart } from '../../api/meta/version-skew.ts';
import { JoinProblem } from './judge-server.ts';

/**
 * Why the server gives no certificate, in words for the user of `berth join`.
 * What is neither a refusal nor a failed call stays as it is.
 */
export function describeJoinFailure(error: unknown, token: string): unknown {
  const api = asApiError(error);
  if (api === undefined) return error instanceof Error && error.name !== 'AbortError' ? new JoinProblem(error.message) : error;
  const id = parseTokenText(token)?.id;
  switch (api.code) {
    case 'UNAUTHENTICATED':
      if (api.reason === 'TokenExpired') return new JoinProblem(api.message);
      return new JoinProblem(
        `the server does not know the token ${id}: it was deleted, it expired and was removed, or it is of another cluster. "berth token create" on the server makes a new one`,
      );
    case 'PERMISSION_DENIED':
      return new JoinProblem(`the token ${id} may not be used for joining: ${api.message}`);
    case 'UNIMPLEMENTED':
    case 'NOT_FOUND':
      return new JoinProblem(
        `the server cannot give certificates to nodes, it is too old: ${api.message}; upgrade it first ("berth up --upgrade")`,
      );
    default:
      return new JoinProblem(api.message);
  }
}

/** Agents and servers may be one minor version apart. Undefined when they go together, or the server does not say. */
export function versionProblem(here: string, server: string | undefined): string | undefined {
  if (server === undefined || !areTooFarApart(here, server)) return undefined;
  return `this machine has Berth ${here} and the server ${server}: they may be one minor version apart at most; install the server's version here`;
}
