import { badRequest } from '../../api/errors/index.ts';
import { invalidValue } from '../../api/errors/violations.ts';
import type { WriteOptions } from '../../api/generated/types.ts';
import { isControlPlane, isNode } from '../authn/identity.ts';
import { decodeStrictly } from '../registry/decode.ts';
import type { WriteContext } from '../registry/write-context.ts';
import { LENGTH_DELIMITED, WireReader } from '../watch/wire.ts';
import type { CallContext } from './call-context.ts';

const OBJECT = 1;
const OPTIONS = 2;

/** A typed write's `{object, options}`, which is the same for every kind, with the object still encoded. */
export function splitWriteRequest(request: Buffer): { object: Uint8Array; options: WriteOptions } {
  let object: Uint8Array = request.subarray(0, 0);
  let options = object;
  try {
    const reader = new WireReader(request);
    while (reader.next()) {
      const { number, wire } = reader;
      if (number !== OBJECT && number !== OPTIONS) throw badRequest(`cannot decode the request: it has no field ${number}`);
      if (wire !== LENGTH_DELIMITED)
        throw badRequest(`cannot decode the request: the field ${number} has the wrong wire type ${wire}`);
      // Of a message that comes twice the parts count together, as one behind the other.
      if (number === OBJECT) object = join(object, reader.value());
      else options = join(options, reader.value());
    }
    return { object, options: decodeStrictly<WriteOptions>('berth.meta.v1.WriteOptions', options, 'options') };
  } catch (error) {
    if (error instanceof Error && error.name === 'WireError') throw badRequest(`cannot decode the request: ${error.message}`);
    throw error;
  }
}

const join = (before: Uint8Array, more: Uint8Array): Uint8Array => (before.length === 0 ? more : Buffer.concat([before, more]));

/** Checks the options of a write and returns the writer. Throws INVALID_ARGUMENT. */
export function writeContext(options: WriteOptions | undefined, call: CallContext): WriteContext {
  const { dryRun, fieldValidation, fieldManager } = options ?? {};
  if (fieldValidation && fieldValidation !== 'Strict') {
    throw badRequest(`fieldValidation "${fieldValidation}" is not supported: unknown fields are always refused ("Strict")`);
  }
  if (fieldManager) checkFieldManager(fieldManager);
  const { identity, manager, isEarlierComponent: mergesConditions } = call;
  const { user } = identity;
  const exceedsLimits = isNode(identity) || isControlPlane(user);
  return {
    user,
    manager: fieldManager || manager,
    dryRun: isDryRun(dryRun),
    signal: () => call.signal,
    isCancelled: () => call.isCancelled,
    noteChange: (change) => call.audited?.[change](),
    mergesConditions,
    exceedsLimits,
  };
}

const MANAGER_MAX = 128;

function checkFieldManager(name: string): void {
  const wrong = (why: string) => {
    const violation = invalidValue('fieldManager', name, why);
    return badRequest(`cannot write: fieldManager: ${violation.description}`, [violation]);
  };
  if ([...name].length > MANAGER_MAX) throw wrong(`must have at most ${MANAGER_MAX} characters`);
  if (!/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u.test(name)) throw wrong('must consist of printable characters');
}

function isDryRun(dryRun: readonly string[] | undefined): boolean {
  const wrong = dryRun?.find((value) => value !== 'All');
  if (wrong !== undefined) throw badRequest(`dryRun "${wrong}" is not supported: use "All"`);
  return (dryRun?.length ?? 0) > 0;
}
