/** Labels of IPAddresses, with Kubernetes' names. */
export const addressLabels = {
  family: 'ipaddress.kubernetes.io/ip-family',
  managedBy: 'ipaddress.kubernetes.io/managed-by',
} as const;

/** Who keeps the IPAddresses of Services. */
export const addressManager = 'ipallocator.k8s.io';
