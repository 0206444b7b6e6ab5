"""Operations of this paper."""
