import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue, required } from '../../errors/violations.ts';
import type {
  LimitedPriorityLevelConfiguration,
  LimitResponse,
  PriorityLevelConfiguration,
  QueuingConfiguration,
} from '../../generated/types.ts';
import { equalValues } from '../../meta/equal.ts';
import { checkOneOf, checkRange, checkRequired, type Violations } from '../checks.ts';
import { fixedPriorityLevel } from './mandatory.ts';

const EXEMPT = 'exempt';
const MOST_QUEUES = 10_000_000;
/** A flow's queues are dealt from so many bits of a hash. */
const MOST_BITS = 60;

/** Kubernetes' rules. */
export function validatePriorityLevel(level: PriorityLevelConfiguration): FieldViolation[] {
  const { metadata, spec = {} } = level;
  const out: Violations = [];
  const { type = '', limited, exempt } = spec;
  checkRequired(out, 'spec', '.type', type);
  checkOneOf(out, 'spec', '.type', type, ['Exempt', 'Limited']);
  if (type !== '' && (metadata?.name === EXEMPT) !== (type === 'Exempt'))
    out.push(invalidValue('spec.type', type, `must be "Exempt" for the level "${EXEMPT}", and for no other`));
  if (type === 'Exempt' && limited) out.push(forbidden('spec.limited', 'may not be set when type is "Exempt"'));
  if (type === 'Limited' && exempt) out.push(forbidden('spec.exempt', 'may not be set when type is "Limited"'));
  if (type === 'Limited' && !limited) out.push(required('spec.limited', 'type is "Limited"'));
  if (type === 'Exempt' && exempt) checkShares(out, 'spec.exempt', exempt);
  if (type === 'Limited' && limited) checkLimited(out, 'spec.limited', limited);
  const fixed = fixedPriorityLevel(level);
  const besides = fixed?.exempt ? ' except spec.exempt' : '';
  if (fixed && !equalValues(spec, fixed))
    out.push(invalidValue('spec', spec, `the spec of "${metadata?.name}"${besides} is fixed: it is the server's own`));
  return out;
}

type Shares = Pick<LimitedPriorityLevelConfiguration, 'nominalConcurrencyShares' | 'lendablePercent'>;

function checkShares(out: Violations, at: string, { nominalConcurrencyShares, lendablePercent }: Shares): void {
  checkRange(out, at, '.nominalConcurrencyShares', nominalConcurrencyShares, 0);
  checkRange(out, at, '.lendablePercent', lendablePercent, 0, 100);
}

function checkLimited(out: Violations, at: string, limited: LimitedPriorityLevelConfiguration): void {
  checkShares(out, at, limited);
  checkRange(out, at, '.borrowingLimitPercent', limited.borrowingLimitPercent, 0);
  checkResponse(out, `${at}.limitResponse`, limited.limitResponse ?? {});
}

function checkResponse(out: Violations, at: string, { type = '', queuing }: LimitResponse): void {
  checkRequired(out, at, '.type', type);
  checkOneOf(out, at, '.type', type, ['Queue', 'Reject']);
  if (type === 'Reject' && queuing) out.push(forbidden(`${at}.queuing`, 'may not be set when type is "Reject"'));
  if (type === 'Queue' && !queuing) out.push(required(`${at}.queuing`, 'type is "Queue"'));
  if (type === 'Queue' && queuing) checkQueuing(out, `${at}.queuing`, queuing);
}

function checkQueuing(
  out: Violations,
  at: string,
  { queues = 0, handSize = 0, queueLengthLimit = 0 }: QueuingConfiguration,
): void {
  checkRange(out, at, '.queueLengthLimit', queueLengthLimit, 1);
  checkRange(out, at, '.queues', queues, 1, MOST_QUEUES);
  checkRange(out, at, '.handSize', handSize, 1);
  const bits = Math.ceil(Math.log2(queues) * handSize);
  if (handSize > queues) out.push(invalidValue(`${at}.handSize`, handSize, `must not be more than queues, which is ${queues}`));
  else if (queues > 0 && bits > MOST_BITS)
    out.push(invalidValue(`${at}.handSize`, handSize, `takes ${bits} bits of a hash with ${queues} queues, of ${MOST_BITS}`));
}
