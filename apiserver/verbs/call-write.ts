import { badRequest } from '../../api/errors/index.ts';
import { invalidValue } from '../../api/errors/violations.ts';
import type { DeleteOptions, WriteOptions } from '../../api/generated/types.ts';
import type { LeaseTerm } from '../../api/meta/lease-term.ts';
import type { AuditedAccess } from '../audit/audit.ts';
import { isControlPlane, isNode } from '../authn/identity.ts';
import type { Access } from '../authz/attributes.ts';
import type { AnyObject } from '../registry/any-object.ts';
import type { WriteContext } from '../registry/write-context.ts';
import type { CallContext } from './call-context.ts';

/** The writer of a call that is authorized: the same value goes on to the store. */
export class CallWrite implements WriteContext {
  readonly user: string;
  readonly manager: string;
  readonly dryRun: boolean;
  readonly fieldValidation: WriteContext['fieldValidation'];
  readonly mergesConditions: boolean | undefined;
  readonly exceedsLimits: boolean;
  readonly caller: CallContext;
  readonly admitted: CallContext;
  readonly audited: AuditedAccess | undefined;
  readonly term: LeaseTerm | undefined;

  /** Throws INVALID_ARGUMENT for options that are not supported. */
  constructor(options: WriteOptions | undefined, call: CallContext) {
    const { dryRun, fieldValidation, fieldManager } = options ?? {};
    this.fieldValidation = parseFieldValidation(fieldValidation);
    if (fieldManager) checkFieldManager(fieldManager);
    const { identity } = call;
    this.user = identity.user;
    this.manager = fieldManager || call.manager;
    this.dryRun = isDryRun(dryRun);
    this.mergesConditions = call.isEarlierComponent;
    this.exceedsLimits = isNode(identity) || isControlPlane(identity.user);
    this.caller = call;
    this.admitted = call;
    this.audited = call.audited;
    this.term = call.leaseTerm;
  }
}

/**
 * The context of a write that is also authorized by objects: by the version that it starts from, and by the new one.
 */
export class AuthorizedWrite extends CallWrite {
  readonly access: Access;

  /** Authorizes the call. Throws PERMISSION_DENIED, then INVALID_ARGUMENT. */
  constructor(access: Access, options: WriteOptions | undefined, call: CallContext) {
    // First of all: a caller that may not write learns nothing of its options.
    call.authorize(access);
    super(options, call);
    this.access = access;
    if (this.dryRun) this.audited?.unchanged();
  }

  authorizeChange(previous: AnyObject): void {
    this.caller.authorizer.authorizeChange(this.caller.identity, this.access, previous);
  }

  authorizeNext(next: AnyObject, previous: AnyObject): void {
    this.caller.authorizer.authorizeNext(this.caller.identity, this.access, next, previous);
  }
}

/** What the options of a delete say of the write. */
export function deleteWriteOptions(options: DeleteOptions | undefined): WriteOptions {
  return options?.dryRun ? { dryRun: options.dryRun } : {};
}

const validations = ['Strict', 'Warn', 'Ignore'] as const;

/** How strictly a write is read; undefined also for a word that is none of the three, which is refused later. */
export function fieldValidationOf(text: string | undefined): WriteContext['fieldValidation'] {
  return validations.find((each) => each === text);
}

function parseFieldValidation(text: string | undefined): WriteContext['fieldValidation'] {
  if (!text) return undefined;
  const found = fieldValidationOf(text);
  if (!found) throw badRequest(`fieldValidation "${text}" is none of ${validations.join(', ')}`);
  return found;
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
