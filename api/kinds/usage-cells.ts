import type { Quantity } from '../generated/types.ts';
import { quantityMilli, quantityValue } from '../meta/quantity.ts';
import { NONE } from './cells.ts';

const MIB = 1024 * 1024;

/** CPU in use, as `kubectl top` prints it: "250m". */
export function cpuCell(cpu: Quantity | undefined): string {
  return cpu ? `${quantityMilli(cpu)}m` : NONE;
}

/** Memory in use, as `kubectl top` prints it: "1024Mi". */
export function memoryCell(memory: Quantity | undefined): string {
  return memory ? `${Math.floor(quantityValue(memory) / MIB)}Mi` : NONE;
}
