import { canonicalQuantity, formatCpu, formatWhole } from '../meta/quantity.ts';

const CPU = new Set(['cpu', 'requests.cpu', 'limits.cpu']);
const BYTES =
  /^((requests|limits)\.)?(memory|storage|ephemeral-storage|hugepages-.*)$|\.storageclass\.storage\.k8s\.io\/requests\.storage$/;

/** Whether amounts of the resource are thousandths of a core, and not whole units; of pods and of quotas. */
export function isCpuName(name: string): boolean {
  return CPU.has(name);
}

/** An amount as a quantity, as Kubernetes shows it: cores, bytes in binary units, everything else in decimal ones. */
export function amountText(name: string, amount: number): string {
  if (isCpuName(name)) return formatCpu(amount);
  return BYTES.test(name) ? formatWhole(amount) : canonicalQuantity(String(amount));
}
