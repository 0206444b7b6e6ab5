"""Tasks on custom trees, from columns of nodes to classes, numbers or ranks."""
