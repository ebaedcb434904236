import type { FieldViolation } from '../../errors/api-error.ts';
import { duplicate, forbidden, tooLong } from '../../errors/violations.ts';
import type { CSINode, CSINodeDriver } from '../../generated/types.ts';
import { equalValues } from '../../meta/equal.ts';
import { qualifiedNameError } from '../../meta/names.ts';
import { checkRange, checkRequired, checkRule, type Violations } from '../checks.ts';
import { checkDriverName } from '../csi-names.ts';

const LONGEST_ID = 256;

/** Kubernetes' rules. */
export function validateCsiNode({ spec }: CSINode): FieldViolation[] {
  const out: Violations = [];
  const seen = new Set<string>();
  (spec?.drivers ?? []).forEach((driver, i) => {
    const at = `spec.drivers[${i}]`;
    const { name = '', nodeID = '', topologyKeys = [], allocatable } = driver;
    checkDriverName(out, at, '.name', name);
    if (seen.has(name)) out.push(duplicate(`${at}.name`, name));
    seen.add(name);
    checkRequired(out, at, '.nodeID', nodeID);
    if (Buffer.byteLength(nodeID) > LONGEST_ID) out.push(tooLong(`${at}.nodeID`, LONGEST_ID, 'bytes'));
    topologyKeys.forEach((key, j) => {
      checkRule(out, at, `.topologyKeys[${j}]`, key, qualifiedNameError(key));
      if (topologyKeys.indexOf(key) < j) out.push(duplicate(`${at}.topologyKeys[${j}]`, key));
    });
    checkRange(out, at, '.allocatable.count', allocatable?.count, 0);
  });
  return out;
}

const lasting = ({ allocatable: _, ...rest }: CSINodeDriver): CSINodeDriver => rest;

/** Of a driver that stays registered only `allocatable` may change. */
export function validateCsiNodeUpdate({ spec: next }: CSINode, { spec: previous }: CSINode): FieldViolation[] {
  const before = new Map((previous?.drivers ?? []).map((driver) => [driver.name, driver]));
  return (next?.drivers ?? []).flatMap((driver, i) => {
    const was = before.get(driver.name);
    const same = was === undefined || equalValues(lasting(was), lasting(driver));
    return same ? [] : [forbidden(`spec.drivers[${i}]`, 'only allocatable may change; remove the driver and add it anew')];
  });
}
