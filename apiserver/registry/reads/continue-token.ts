import { createHash } from 'node:crypto';
import { badRequest } from '../../../api/errors/index.ts';

/** Where the next page of a list starts. */
export interface ListPosition {
  /** The revision that all pages show. */
  readonly revision: number;
  /** The last key of the page before. */
  readonly after: string;
}

const FORMAT = 1;
const MAX_LENGTH = 2_048;

/** The list's parameters, so that a token is not used for another list. */
function digest(question: string): string {
  return createHash('sha256').update(question).digest('base64url').slice(0, 12);
}

export function encodeContinue(position: ListPosition, question: string): string {
  return Buffer.from(JSON.stringify([FORMAT, position.revision, position.after, digest(question)])).toString('base64url');
}

/** Throws INVALID_ARGUMENT for a token that this server did not make for the same list. */
export function decodeContinue(token: string, question: string): ListPosition {
  const wrong = badRequest(
    'invalid continue token: it is not one of this list (kind, namespace and selectors must stay the same)',
  );
  const parts = readParts(token);
  if (!parts) throw wrong;
  const [format, revision, after, check] = parts;
  if (format !== FORMAT || !Number.isSafeInteger(revision) || typeof after !== 'string' || check !== digest(question))
    throw wrong;
  return { revision: revision as number, after };
}

/**
 * The revision that a token names, whatever list it is of; undefined for one that cannot be read, which
 * `decodeContinue` refuses.
 */
export function continuedRevision(token: string): number | undefined {
  const revision = readParts(token)?.[1];
  return Number.isSafeInteger(revision) ? (revision as number) : undefined;
}

function readParts(token: string): unknown[] | undefined {
  try {
    const parts: unknown = JSON.parse(Buffer.from(token.slice(0, MAX_LENGTH), 'base64url').toString('utf8'));
    return Array.isArray(parts) && parts.length === 4 ? parts : undefined;
  } catch {
    return undefined;
  }
}
